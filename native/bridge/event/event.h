/* What is behind mtb_event. */
#ifndef MTBI_EVENT_H
#define MTBI_EVENT_H

#include "core/handles.h"

/* Shared events work across devices, so no device is kept to check against. */
struct mtb_event {
    mtbi_handle handle;
    MTBI_OBJECT(MTLSharedEvent) metal;
    MTBI_INSTANCE(MTLSharedEventListener) listener;
    pthread_mutex_t mutex;
    /* The largest value that the event is known to have had: it has no smaller one again. See mtbi_event_raise. */
    uint64_t reached;
    /* Signals that committed command buffers are still to make, and waits. See event/steps.h. */
    struct mtbi_step *pending;
    struct mtbi_step *waiting;
    /* Callbacks that wait for a value. See event/notifications.h, whose lock guards this. */
    struct mtbi_notification *newest;
    /* Counts what keeps the handle and cannot signal: waits of command buffers, and one for all references together. */
    atomic_size_t weak_references;
    /* No reference is left: the event stays at `reached`. */
    bool is_abandoned;
};

void mtbi_event_retain_weakly(mtb_event *event);
void mtbi_event_release_weakly(mtb_event *event);
/* The event has `value` or more from here on: the CPU signals if the event has less, which may also be because a signal
 * that came late, or at the same time as the CPU's, has lowered the value. Returns the event's value. */
uint64_t mtbi_event_raise(mtb_event *event, uint64_t value);
/* Has Metal fire the notification of this number when the event has `value`: see event/notifications.h. */
mtb_status mtbi_event_listen(mtb_event *event, uint64_t value, uint64_t number, mtb_error **error,
                             const char *function);

#endif
