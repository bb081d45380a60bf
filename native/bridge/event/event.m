/* Shared events: signalled and waited for by the CPU. (The GPU's side is in command_buffer.m.) */
#import "core/checks.h"
#import "core/clock.h"
#import "core/guard.h"
#import "core/text.h"
#import "device/device.h"
#import "event/notifications.h"
#import "event/steps.h"

#include <unistd.h>

enum {
    NANOSECONDS_PER_MILLISECOND = 1000000,
    MICROSECONDS_PER_MILLISECOND = 1000
};

/* A longer wait, such as one for MTB_FOREVER, is a sequence of waits of at most this length, so that Metal can convert
 * each timeout without an overflow. */
static const uint64_t longest_wait_ns = 3600 * UINT64_C(1000000000);

/* The last reference is gone, so nobody can signal any more. Ends the waits of command buffers, which then fail with
 * MTB_DEADLOCK. */
static void destroy(mtbi_handle *handle) {
    mtb_event *event = (mtb_event *)handle;
    MTBI_ENTER
    uint64_t signaled = [event->metal signaledValue];
    uint64_t awaited = mtbi_steps_abandon(event, signaled);
    /* Withdraws the callbacks before it raises the value, which nobody has signalled and for which Metal would call
     * them. Destroys their contexts after that: a destructor may wait for a command buffer that waits for the value. */
    mtbi_notification *withdrawn = mtbi_notification_withdraw_all(event);
    if (awaited > signaled) [event->metal setSignaledValue:awaited];
    mtbi_notification_end(withdrawn, signaled);
    [event->metal release];
    [event->listener release];
    mtbi_event_release_weakly(event);
    MTBI_LEAVE()
}

mtb_event *mtb_event_create(mtb_device *device, mtb_error **error) {
    mtb_event *event = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device)) return NULL;
    event = mtbi_handle_create(MTB_HANDLE_EVENT, sizeof *event, destroy, error, __func__);
    if (!event) return NULL;
    pthread_mutex_init(&event->mutex, NULL);
    atomic_init(&event->weak_references, 1);
    event->metal = [device->metal newSharedEvent];
    if (!event->metal) {
        FAIL(error, MTB_OUT_OF_MEMORY, "Metal could not make a shared event");
        mtb_event_release(event);
        return NULL;
    }
    return event;
    MTBI_LEAVE((mtb_event_release(event), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_status mtb_event_set_label(mtb_event *event, const char *label, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(event));
    return mtbi_set_label(event->metal, label, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

char *mtb_event_copy_label(const mtb_event *event) {
    MTBI_ENTER
    return event ? mtbi_copy_label(event->metal) : NULL;
    MTBI_LEAVE(NULL)
}

uint64_t mtbi_event_raise(mtb_event *event, uint64_t value) {
    MTBI_ENTER
    pthread_mutex_lock(&event->mutex);
    @try {
        uint64_t present = [event->metal signaledValue];
        if (event->reached < value) event->reached = value;
        if (event->reached <= present)
            event->reached = present;
        else
            [event->metal setSignaledValue:event->reached];
        return event->reached;
    } @finally {
        pthread_mutex_unlock(&event->mutex);
    }
    MTBI_LEAVE(value)
}

mtb_status mtb_event_signal(mtb_event *event, uint64_t value, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(event));
    uint64_t reached = mtbi_event_raise(event, value);
    if (reached > value)
        return FAIL(error, MTB_OUT_OF_RANGE, "the event cannot be set to %llu: its value is %llu already",
                    (unsigned long long)value, (unsigned long long)reached);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

/* For macOS 11, where the CPU cannot wait for an event: looks once a millisecond. */
static bool poll_until(id<MTLSharedEvent> metal, uint64_t value, uint64_t deadline) {
    while ([metal signaledValue] < value) {
        if (mtbi_time_left(deadline) == 0) return false;
        usleep(MICROSECONDS_PER_MILLISECOND);
    }
    return true;
}

static bool wait_until(id<MTLSharedEvent> metal, uint64_t value, uint64_t timeout_ns) {
    if ([metal signaledValue] >= value) return true;
    uint64_t deadline = mtbi_deadline(timeout_ns);
    if (@available(macOS 12.0, *)) {
        uint64_t left;
        do {
            left = mtbi_time_left(deadline);
            uint64_t slice = left < longest_wait_ns ? left : longest_wait_ns;
            uint64_t milliseconds = (slice + NANOSECONDS_PER_MILLISECOND - 1) / NANOSECONDS_PER_MILLISECOND;
            if ([metal waitUntilSignaledValue:value timeoutMS:milliseconds]) return true;
        } while (left > longest_wait_ns);
        return false;
    }
    return poll_until(metal, value, deadline);
}

mtb_status mtb_event_wait(mtb_event *event, uint64_t value, uint64_t timeout_ns, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(event));
    if (mtbi_event_raise(event, 0) < value && !wait_until(event->metal, value, timeout_ns))
        return FAIL(error, MTB_TIMEOUT, "the event did not reach the value %llu in %.3f s: its value is %llu",
                    (unsigned long long)value, (double)timeout_ns * 1e-9,
                    (unsigned long long)[event->metal signaledValue]);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

/* The event's listener, made at the first use; nil if Metal has none to give. */
static MTLSharedEventListener *listener(mtb_event *event) {
    pthread_mutex_lock(&event->mutex);
    @try {
        if (!event->listener) event->listener = [[MTLSharedEventListener alloc] init];
    } @finally {
        pthread_mutex_unlock(&event->mutex);
    }
    return event->listener;
}

static void fire(uint64_t number, uint64_t value) {
    MTBI_ENTER
    mtbi_notification_fire(number, value);
    MTBI_LEAVE()
}

mtb_status mtbi_event_listen(mtb_event *event, uint64_t value, uint64_t number, mtb_error **error,
                             const char *function) {
    MTBI_ENTER
    MTLSharedEventListener *shared = listener(event);
    if (!shared) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not make a listener");
    [event->metal notifyListener:shared atValue:value block:^(id<MTLSharedEvent> metal, uint64_t reached) {
        (void)metal;
        fire(number, reached);
    }];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, function, exception))
}
