/* Callbacks that wait for an event. Metal keeps a notification's block for as long as the event lives and never says
 * that it has dropped one. So the block knows only its callback's number, and this list has the number until the
 * callback has been called or its event has gone. */
#include "event/notifications.h"

#include <stdlib.h>

/* Programs have many thousand at once: neither a number nor an event may cost a walk through the rest. */
enum {
    BUCKETS = 1024
};

struct mtbi_notification {
    /* The bucket's next one. */
    mtbi_notification *next;
    /* The event's neighbours. */
    mtbi_notification *newer;
    mtbi_notification *older;
    uint64_t number;
    mtb_event *event;
    uint64_t value;
    mtb_event_callback callback;
    void *context;
    mtb_context_destructor destructor;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Numbers follow each other, so the buckets fill evenly. */
static mtbi_notification *buckets[BUCKETS];
static uint64_t last_number;

uint64_t mtbi_notification_add(mtb_event *event, uint64_t value, mtb_event_callback callback, void *context,
                               mtb_context_destructor destructor) {
    mtbi_notification *added = malloc(sizeof *added);
    if (!added) return 0;
    pthread_mutex_lock(&mutex);
    uint64_t number = ++last_number;
    mtbi_notification **bucket = &buckets[number % BUCKETS];
    *added = (mtbi_notification){*bucket, NULL, event->newest, number, event, value, callback, context, destructor};
    *bucket = added;
    if (added->older) added->older->newer = added;
    event->newest = added;
    pthread_mutex_unlock(&mutex);
    return number;
}

/* Takes the callback out of both lists; NULL if no callback has the number. The caller holds the lock. */
static mtbi_notification *unlink_number(uint64_t number) {
    mtbi_notification **link = &buckets[number % BUCKETS];
    while (*link && (*link)->number != number) link = &(*link)->next;
    mtbi_notification *found = *link;
    if (!found) return NULL;
    *link = found->next;
    if (found->older) found->older->newer = found->newer;
    if (found->newer)
        found->newer->older = found->older;
    else
        found->event->newest = found->older;
    return found;
}

static mtbi_notification *take(uint64_t number) {
    pthread_mutex_lock(&mutex);
    mtbi_notification *found = unlink_number(number);
    pthread_mutex_unlock(&mutex);
    return found;
}

static void drop(mtbi_notification *taken) {
    if (taken->destructor) taken->destructor(taken->context);
    free(taken);
}

void mtbi_notification_fire(uint64_t number, uint64_t value) {
    mtbi_notification *taken = take(number);
    if (!taken) return;
    taken->callback(value, taken->context);
    drop(taken);
}

void mtbi_notification_withdraw(uint64_t number) {
    mtbi_notification *taken = take(number);
    if (taken) drop(taken);
}

mtbi_notification *mtbi_notification_withdraw_all(mtb_event *event) {
    mtbi_notification *withdrawn = NULL, **end = &withdrawn;
    pthread_mutex_lock(&mutex);
    while (event->newest) {
        *end = unlink_number(event->newest->number);
        end = &(*end)->next;
    }
    *end = NULL;
    pthread_mutex_unlock(&mutex);
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
