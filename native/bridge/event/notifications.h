/* Callbacks that wait for an event. */
#ifndef MTBI_EVENT_NOTIFICATIONS_H
#define MTBI_EVENT_NOTIFICATIONS_H

#include "event/event.h"

typedef struct mtbi_notification mtbi_notification;

/* Remembers a callback for `event`. Returns its number, zero if there is no memory. */
uint64_t mtbi_notification_add(mtb_event *event, uint64_t value, mtb_event_callback callback, void *context,
                               mtb_context_destructor destructor);
/* Calls the callback and forgets it; does nothing if it has been forgotten. */
void mtbi_notification_fire(uint64_t number, uint64_t value);
/* Forgets the callback without calling it; does nothing if it has been forgotten. */
void mtbi_notification_withdraw(uint64_t number);
/* The event goes, having reached `signaled`: withdraws its callbacks, which nothing calls from here on but
 * mtbi_notification_end. */
mtbi_notification *mtbi_notification_withdraw_all(mtb_event *event);
/* Calls the callbacks that Metal owes, and forgets all of them. */
void mtbi_notification_end(mtbi_notification *withdrawn, uint64_t signaled);

#endif
