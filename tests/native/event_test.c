#include "harness.h"

#include "../../native/software/tests/comma_locale.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
    MILLISECOND = 1000000
};

static mtb_event *make_event(void) {
    mtb_event *event;
    MAKE(event, mtb_event_create(shared.device, &error));
    return event;
}

static void the_cpu_signals_and_waits(void) {
    mtb_event *event = make_event();
    CHECK(mtb_event_signaled_value(event) == 0);
    CHECK_OK(mtb_event_set_label(event, "steps", &error));
    char *label = mtb_event_copy_label(event);
    CHECK(label && strcmp(label, "steps") == 0);
    mtb_string_free(label);
    CHECK_OK(mtb_event_wait(event, 0, 0, &error));
    CHECK_FAILS(mtb_event_wait(event, 3, 15 * MILLISECOND, &error), MTB_TIMEOUT, "did not reach the value 3");
    CHECK_FAILS(mtb_event_wait(event, 3, 0, &error), MTB_TIMEOUT,
                "did not reach the value 3 in 0.000 s: its value is 0");
    set_comma_locale();
    CHECK_FAILS(mtb_event_wait(event, 3, 15 * MILLISECOND, &error), MTB_TIMEOUT,
                "did not reach the value 3 in 0.015 s");
    setlocale(LC_ALL, "C");
    CHECK_OK(mtb_event_signal(event, 3, &error));
    CHECK_OK(mtb_event_wait(event, 3, MTB_FOREVER, &error));
    CHECK_OK(mtb_event_wait(event, 2, 0, &error));
    CHECK(mtb_event_signaled_value(event) == 3);
    CHECK_FAILS(mtb_event_signal(event, 2, &error), MTB_OUT_OF_RANGE, "cannot be set to 2: its value is 3");
    CHECK_FAILS(mtb_event_signal(NULL, 2, &error), MTB_INVALID_ARGUMENT, "`event`");
    CHECK_FAILS(mtb_event_wait(NULL, 2, 0, &error), MTB_INVALID_ARGUMENT, "`event`");
    CHECK_FAILS(mtb_event_create(NULL, &error), MTB_INVALID_ARGUMENT, "`device`");
    mtb_event_release(event);
}

static void *signal_later(void *event) {
    usleep(20000);
    mtb_event_signal(event, 1, NULL);
    return NULL;
}

static void a_waiter_is_woken(void) {
    mtb_event *event = make_event();
    pthread_t thread;
    pthread_create(&thread, NULL, signal_later, event);
    CHECK_OK(mtb_event_wait(event, 1, MTB_FOREVER, &error));
    pthread_join(thread, NULL);
    mtb_event_release(event);
}

static void *raise_by_turns(void *argument) {
    mtb_event *event = argument;
    uint64_t last = 0;
    for (uint64_t value = 1; value <= 2000; value++) {
        mtb_event_signal(event, value, NULL); /* refused if another thread is ahead */
        uint64_t present = mtb_event_signaled_value(event);
        if (present < last || present < value) return NULL;
        last = present;
    }
    return event;
}

static void values_only_rise(void) {
    mtb_event *event = make_event();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, raise_by_turns, event);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        CHECK(result == event);
    }
    CHECK(mtb_event_signaled_value(event) == 2000);
    mtb_event_release(event);
}

static void the_gpu_signals_and_waits(void) {
    mtb_event *event = make_event();
    mtb_command_buffer *waits = make_command_buffer();
    CHECK_OK(mtb_command_buffer_encode_wait(waits, event, 1, &error));
    CHECK_OK(mtb_command_buffer_encode_signal(waits, event, 2, &error));
    CHECK_OK(mtb_command_buffer_commit(waits, &error));
    CHECK_FAILS(mtb_command_buffer_wait_timeout(waits, 20 * MILLISECOND, &error), MTB_TIMEOUT, "has not completed");
    CHECK(mtb_event_signaled_value(event) == 0);
    CHECK_OK(mtb_event_signal(event, 1, &error));
    CHECK_OK(mtb_event_wait(event, 2, MTB_FOREVER, &error));
    CHECK_OK(mtb_command_buffer_wait(waits, &error));
    mtb_command_buffer_release(waits);
    mtb_event_release(event);
}

typedef struct {
    atomic_int calls;
    atomic_int destructions;
    _Atomic uint64_t value;
} record;

static void note_value(uint64_t value, void *context) {
    record *seen = context;
    atomic_store(&seen->value, value);
    atomic_fetch_add(&seen->calls, 1);
}

static void note_destruction(void *context) { atomic_fetch_add(&((record *)context)->destructions, 1); }

static void await_destruction(record *seen) {
    AWAIT(atomic_load(&seen->destructions) > 0);
    CHECK(atomic_load(&seen->destructions) == 1);
}

static void notifications_arrive_once(void) {
    record later = {0}, at_once = {0};
    mtb_event *event = make_event();
    CHECK_OK(mtb_event_notify(event, 5, note_value, &later, note_destruction, &error));
    CHECK_OK(mtb_event_signal(event, 4, &error));
    usleep(5000);
    CHECK(atomic_load(&later.calls) == 0);
    CHECK_OK(mtb_event_signal(event, 6, &error));
    await_destruction(&later);
    CHECK(atomic_load(&later.calls) == 1 && atomic_load(&later.value) >= 5);
    CHECK_OK(mtb_event_notify(event, 6, note_value, &at_once, note_destruction, &error));
    await_destruction(&at_once);
    CHECK_OK(mtb_event_signal(event, 7, &error));
    CHECK(atomic_load(&later.calls) == 1 && atomic_load(&at_once.calls) == 1);
    mtb_event_release(event);
}

static void notifications_end_with_their_event(void) {
    record seen = {0};
    mtb_event *event = make_event();
    CHECK_OK(mtb_event_notify(event, 5, note_value, &seen, note_destruction, &error));
    mtb_event_release(event);
    CHECK(atomic_load(&seen.calls) == 0 && atomic_load(&seen.destructions) == 1);
}

/* The callbacks of several events, added in turns, in the order in which events and values come and go. */
static void notifications_of_many_events_keep_apart(void) {
    enum {
        EVENTS = 40,
        EACH = 50
    };
    static record seen[EVENTS][EACH];
    mtb_event *events[EVENTS];
    for (int e = 0; e < EVENTS; e++) events[e] = make_event();
    for (int i = 0; i < EACH; i++)
        for (int e = 0; e < EVENTS; e++)
            CHECK_OK(mtb_event_notify(events[e], i + 1, note_value, &seen[e][i], note_destruction, &error));
    /* Event e is signalled up to e, so that callbacks are taken from the old end, and from within the hash chains. */
    for (int e = 0; e < EVENTS; e++) CHECK_OK(mtb_event_signal(events[e], e, &error));
    for (int e = 1; e < EVENTS; e++) await_destruction(&seen[e][e - 1]);
    for (int e = EVENTS - 1; e >= 0; e--)
        if (e % 2) mtb_event_release(events[e]);
    for (int e = 0; e < EVENTS; e += 2) {
        CHECK(atomic_load(&seen[e][EACH - 1].destructions) == 0);
        CHECK_OK(mtb_event_notify(events[e], 1000, note_value, &seen[e][EACH - 1], NULL, &error));
        mtb_event_release(events[e]);
    }
    for (int e = 0; e < EVENTS; e++) {
        for (int i = 0; i < EACH; i++) {
            AWAIT(atomic_load(&seen[e][i].destructions) > 0);
            CHECK(atomic_load(&seen[e][i].destructions) == 1);
            CHECK(atomic_load(&seen[e][i].calls) == (i + 1 <= e));
        }
    }
}

static void refused_notifications_give_their_contexts_back(void) {
    record seen = {0};
    mtb_event *event = make_event();
    CHECK_FAILS(mtb_event_notify(event, 8, NULL, &seen, note_destruction, &error), MTB_INVALID_ARGUMENT, "`callback`");
    CHECK(atomic_load(&seen.destructions) == 1);
    CHECK_FAILS(mtb_event_notify(NULL, 8, note_value, &seen, note_destruction, &error), MTB_INVALID_ARGUMENT,
                "`event`");
    CHECK(atomic_load(&seen.destructions) == 2 && atomic_load(&seen.calls) == 0);
    mtb_event_release(event);
}

/* The command buffer that is to signal keeps the event, so that the notification arrives. */
static void notifications_outlive_the_callers_handle(void) {
    record seen = {0};
    mtb_event *event = make_event();
    mtb_command_buffer *command_buffer = make_command_buffer();
    CHECK_OK(mtb_event_notify(event, 1, note_value, &seen, note_destruction, &error));
    CHECK_OK(mtb_command_buffer_encode_signal(command_buffer, event, 1, &error));
    mtb_event_release(event);
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    mtb_command_buffer_release(command_buffer);
    await_destruction(&seen);
}

static mtb_command_buffer *waiting_for(mtb_event *event, uint64_t value) {
    mtb_command_buffer *command_buffer = make_command_buffer();
    CHECK_OK(mtb_command_buffer_encode_wait(command_buffer, event, value, &error));
    return command_buffer;
}

static const char nobody[] = "nobody could signal any more";

static void a_wait_ends_when_nobody_can_signal(void) {
    mtb_event *event = make_event();
    mtb_command_buffer *waiting = waiting_for(event, 3), *later = make_command_buffer();
    CHECK_OK(mtb_command_buffer_commit(waiting, &error));
    CHECK_OK(mtb_command_buffer_commit(later, &error));
    mtb_event_release(event);
    CHECK_FAILS(mtb_command_buffer_wait(waiting, &error), MTB_DEADLOCK, nobody);
    CHECK(mtb_command_buffer_get_status(waiting) == MTB_COMMAND_BUFFER_ERROR);
    mtb_error *error = mtb_command_buffer_copy_error(waiting);
    check_error(error, MTB_DEADLOCK, nobody, "the command buffer's error", __FILE__, __LINE__);
    /* Later work of the queue does not fail because of it. */
    CHECK_OK(mtb_command_buffer_wait(later, &error));
    mtb_command_buffer_release(later);
    mtb_command_buffer_release(waiting);
}

/* Nobody has signalled the event, though the bridge raises its value for the GPU to end the wait. Listeners used to
 * hear of that value in one of a few rounds. */
static void no_listener_hears_of_a_wait_that_nobody_could_end(void) {
    for (int round = 0; round < 64; round++) {
        record seen = {0};
        mtb_event *event = make_event();
        mtb_command_buffer *waiting = waiting_for(event, 3);
        for (int i = 0; i < 8; i++) CHECK_OK(mtb_event_notify(event, 3, note_value, &seen, note_destruction, &error));
        CHECK_OK(mtb_command_buffer_commit(waiting, &error));
        mtb_event_release(event);
        CHECK_FAILS(mtb_command_buffer_wait(waiting, &error), MTB_DEADLOCK, nobody);
        AWAIT(atomic_load(&seen.destructions) == 8);
        CHECK(atomic_load(&seen.calls) == 0);
        mtb_command_buffer_release(waiting);
    }
}

static void a_recorded_wait_without_end_is_not_committed(void) {
    mtb_event *event = make_event();
    mtb_command_buffer *met = waiting_for(event, 1), *unmet = waiting_for(event, 2);
    CHECK_OK(mtb_command_buffer_encode_wait(met, event, 0, &error));
    CHECK_OK(mtb_event_signal(event, 1, &error));
    mtb_event_release(event);
    run(met);
    CHECK_FAILS(mtb_command_buffer_commit(unmet, &error), MTB_DEADLOCK, "waits for event value 2, but the event has 1");
    CHECK_FAILS(mtb_command_buffer_commit(unmet, &error), MTB_DEADLOCK, "waits for event value 2, but the event has 1");
    mtb_command_buffer_release(unmet);
}

/* A command buffer that is to signal can do so until it is gone, also before it is committed. */
static void a_wait_goes_on_while_somebody_can_signal(void) {
    for (int is_committed = 0; is_committed < 2; is_committed++) {
        mtb_event *event = make_event();
        mtb_command_queue *other;
        mtb_command_buffer *waiting = waiting_for(event, 1), *signalling;
        MAKE(other, mtb_command_queue_create(shared.device, 0, &error));
        MAKE(signalling, mtb_command_buffer_create(other, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
        CHECK_OK(mtb_command_buffer_encode_signal(signalling, event, 1, &error));
        CHECK_OK(mtb_command_buffer_commit(waiting, &error));
        mtb_event_release(event);
        CHECK_FAILS(mtb_command_buffer_wait_timeout(waiting, 0, &error), MTB_TIMEOUT, "not completed");
        if (is_committed) CHECK_OK(mtb_command_buffer_commit(signalling, &error));
        mtb_command_buffer_release(signalling);
        if (is_committed)
            CHECK_OK(mtb_command_buffer_wait(waiting, &error));
        else
            CHECK_FAILS(mtb_command_buffer_wait(waiting, &error), MTB_DEADLOCK, nobody);
        mtb_command_buffer_release(waiting);
        mtb_command_queue_release(other);
    }
}

const test event_tests[] = {
    {"event: the CPU signals and waits", the_cpu_signals_and_waits},
    {"event: a waiter is woken", a_waiter_is_woken},
    {"event: values only rise", values_only_rise},
    {"event: the GPU signals and waits", the_gpu_signals_and_waits},
    {"event: notifications arrive once", notifications_arrive_once},
    {"event: notifications end with their event", notifications_end_with_their_event},
    {"event: notifications of many events keep apart", notifications_of_many_events_keep_apart},
    {"event: notifications that are refused give their contexts back", refused_notifications_give_their_contexts_back},
    {"event: notifications outlive the caller's handle", notifications_outlive_the_callers_handle},
    {"event: a wait ends when nobody can signal", a_wait_ends_when_nobody_can_signal},
    {"event: no listener hears of a wait that nobody could end", no_listener_hears_of_a_wait_that_nobody_could_end},
    {"event: a recorded wait that nobody can end is not committed", a_recorded_wait_without_end_is_not_committed},
    {"event: a wait goes on while somebody can signal", a_wait_goes_on_while_somebody_can_signal},
    {NULL, NULL},
};
