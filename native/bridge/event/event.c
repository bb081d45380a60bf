/* The parts of events that need no message to Metal. */
#include "core/checks.h"
#include "event/notifications.h"

void mtbi_event_retain_weakly(mtb_event *event) {
    atomic_fetch_add_explicit(&event->weak_references, 1, memory_order_relaxed);
}

void mtbi_event_release_weakly(mtb_event *event) {
    if (atomic_fetch_sub_explicit(&event->weak_references, 1, memory_order_acq_rel) > 1) return;
    pthread_mutex_destroy(&event->mutex);
    mtbi_handle_free(&event->handle);
}

uint64_t mtb_event_signaled_value(const mtb_event *event) {
    /* Nothing that users of the event see is changed. */
    return event ? mtbi_event_raise((mtb_event *)event, 0) : 0;
}

static mtb_status remember(mtb_event *event, uint64_t value, mtb_event_callback callback, void *context,
                           mtb_context_destructor destructor, uint64_t *number, mtb_error **error,
                           const char *function) {
    REQUIRE(mtbi_check_given(event, "event", error, function));
    REQUIRE(mtbi_check_given((const void *)callback, "callback", error, function));
    *number = mtbi_notification_add(event, value, callback, context, destructor);
    if (*number == 0) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a notification");
    return MTB_OK;
}

mtb_status mtb_event_notify(mtb_event *event, uint64_t value, mtb_event_callback callback, void *context,
                            mtb_context_destructor destructor, mtb_error **error) {
    uint64_t number = 0;
    mtbi_error_clear(error);
    mtb_status status = remember(event, value, callback, context, destructor, &number, error, __func__);
    if (status) {
        if (destructor) destructor(context);
        return status;
    }
    /* The notification has the context from here on. */
    status = mtbi_event_listen(event, value, number, error, __func__);
    if (status) mtbi_notification_withdraw(number);
    return status;
}
