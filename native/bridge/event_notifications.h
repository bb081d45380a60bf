/* Callbacks that wait for an event. */
#ifndef MTBI_EVENT_NOTIFICATIONS_H
#define MTBI_EVENT_NOTIFICATIONS_H

#include "handles.h"

/* Remembers a callback for `event`. Returns its number, zero where there is no memory. */
uint64_t mtbi_notification_add(const mtb_event *event, mtb_event_callback callback, void *context,
                               mtb_context_destructor destructor);
/* Calls the callback and forgets it; does nothing if it has been forgotten. */
void mtbi_notification_fire(uint64_t number, uint64_t value);
/* Forgets one without calling it, and without its destructor. */
void mtbi_notification_withdraw(uint64_t number);
/* Forgets the event's callbacks, running their destructors. */
void mtbi_notification_forget_event(const mtb_event *event);

#endif
