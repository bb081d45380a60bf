/* Callbacks that wait for an event. Metal keeps a notification's block for as long as the event lives and never says
 * that it has dropped one. So the block knows its callback by number only, and here is the list in which a number is
 * found until it has been called or its event has gone. */
#include "event_notifications.h"

#include <stdlib.h>

typedef struct notification {
    struct notification *next;
    uint64_t number;
    const mtb_event *event;
    uint64_t value;
    mtb_event_callback callback;
    void *context;
    mtb_context_destructor destructor;
} notification;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static notification *notifications;
static uint64_t last_number;

uint64_t mtbi_notification_add(const mtb_event *event, uint64_t value, mtb_event_callback callback, void *context,
                               mtb_context_destructor destructor)
{
    notification *added = malloc(sizeof *added);
    if (!added)
        return 0;
    pthread_mutex_lock(&mutex);
    uint64_t number = ++last_number;
    *added = (notification){notifications, number, event, value, callback, context, destructor};
    notifications = added;
    pthread_mutex_unlock(&mutex);
    return number;
}

/* Takes the first that has the number or, where that is zero, the event. */
static notification *take(uint64_t number, const mtb_event *event)
{
    pthread_mutex_lock(&mutex);
    notification **place = &notifications;
    while (*place && (number ? (*place)->number != number : (*place)->event != event))
        place = &(*place)->next;
    notification *found = *place;
    if (found)
        *place = found->next;
    pthread_mutex_unlock(&mutex);
    return found;
}

static void drop(notification *taken)
{
    if (taken->destructor)
        taken->destructor(taken->context);
    free(taken);
}

void mtbi_notification_fire(uint64_t number, uint64_t value)
{
    notification *taken = take(number, NULL);
    if (!taken)
        return;
    taken->callback(value, taken->context);
    drop(taken);
}

void mtbi_notification_withdraw(uint64_t number)
{
    free(take(number, NULL));
}

void mtbi_notification_end_event(const mtb_event *event, uint64_t signaled)
{
    notification *taken;
    while ((taken = take(0, event))) {
        if (taken->value <= signaled)
            taken->callback(signaled, taken->context);
        drop(taken);
    }
}
