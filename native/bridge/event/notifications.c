/* Callbacks that wait for an event. Metal keeps a notification's block for as long as the event lives and never says
 * that it has dropped one. So the block knows only its callback's number, and this list has the number until the
 * callback has been called or its event has gone. */
#include "event/notifications.h"

#include <stdlib.h>

struct mtbi_notification {
    mtbi_notification *next;
    uint64_t number;
    const mtb_event *event;
    uint64_t value;
    mtb_event_callback callback;
    void *context;
    mtb_context_destructor destructor;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static mtbi_notification *notifications;
static uint64_t last_number;

uint64_t mtbi_notification_add(const mtb_event *event, uint64_t value, mtb_event_callback callback, void *context,
                               mtb_context_destructor destructor) {
    mtbi_notification *added = malloc(sizeof *added);
    if (!added) return 0;
    pthread_mutex_lock(&mutex);
    uint64_t number = ++last_number;
    *added = (mtbi_notification){notifications, number, event, value, callback, context, destructor};
    notifications = added;
    pthread_mutex_unlock(&mutex);
    return number;
}

/* Takes the first callback that has the number or, if the number is zero, the event. */
static mtbi_notification *take(uint64_t number, const mtb_event *event) {
    pthread_mutex_lock(&mutex);
    mtbi_notification **link = &notifications;
    while (*link && (number ? (*link)->number != number : (*link)->event != event)) link = &(*link)->next;
    mtbi_notification *found = *link;
    if (found) *link = found->next;
    pthread_mutex_unlock(&mutex);
    return found;
}

static void drop(mtbi_notification *taken) {
    if (taken->destructor) taken->destructor(taken->context);
    free(taken);
}

void mtbi_notification_fire(uint64_t number, uint64_t value) {
    mtbi_notification *taken = take(number, NULL);
    if (!taken) return;
    taken->callback(value, taken->context);
    drop(taken);
}

void mtbi_notification_withdraw(uint64_t number) {
    mtbi_notification *taken = take(number, NULL);
    if (taken) drop(taken);
}

mtbi_notification *mtbi_notification_withdraw_all(const mtb_event *event) {
    mtbi_notification *withdrawn = NULL, **end = &withdrawn;
    while ((*end = take(0, event))) end = &(*end)->next;
    return withdrawn;
}

void mtbi_notification_end(mtbi_notification *withdrawn, uint64_t signaled) {
    while (withdrawn) {
        mtbi_notification *taken = withdrawn;
        withdrawn = taken->next;
        if (taken->value <= signaled) taken->callback(signaled, taken->context);
        drop(taken);
    }
}
