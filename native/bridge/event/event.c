/* The parts of events that need no message to Metal. */
#include "event/event.h"

void mtbi_event_retain_weakly(mtb_event *event) {
    atomic_fetch_add_explicit(&event->weak_references, 1, memory_order_relaxed);
}

void mtbi_event_release_weakly(mtb_event *event) {
    if (atomic_fetch_sub_explicit(&event->weak_references, 1, memory_order_acq_rel) > 1) return;
    pthread_mutex_destroy(&event->mutex);
    mtbi_handle_free(&event->handle);
}

uint64_t mtb_event_signaled_value(const mtb_event *event) {
    /* What the event is to its users is not changed. */
    return event ? mtbi_event_raise((mtb_event *)event, 0) : 0;
}
