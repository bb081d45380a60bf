/* Order when command buffers fail. Later work still waits for host functions. Events only rise, and reach each value
 * after the work that it stands for. */
#include "failure_harness.h"

#include "metal_bridge_memory.h"

#include <unistd.h>

/* Within this time, work that does not wait as it should would be done. */
enum {
    MOMENT_US = 20000
};

static mtb_event *make_event(void) {
    mtb_event *event;
    MAKE(event, mtb_event_create(shared.device, &error));
    return event;
}

static mtb_command_queue *make_queue(void) {
    mtb_command_queue *queue;
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    return queue;
}

static mtb_command_buffer *make_on(mtb_command_queue *queue) {
    mtb_command_buffer *command_buffer;
    MAKE(command_buffer, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    return command_buffer;
}

static void encode_wait(mtb_command_buffer *command_buffer, mtb_event *event, uint64_t value) {
    CHECK_OK(mtb_command_buffer_encode_wait(command_buffer, event, value, &error));
}

static void encode_signal(mtb_command_buffer *command_buffer, mtb_event *event, uint64_t value) {
    CHECK_OK(mtb_command_buffer_encode_signal(command_buffer, event, value, &error));
}

static void commit(mtb_command_buffer *command_buffer) { CHECK_OK(mtb_command_buffer_commit(command_buffer, &error)); }

enum {
    WORK = 3
};

/* A host function that returns when a gate opens. */
typedef struct {
    mtb_event *gate;
    bool was_called;
    /* The events that the work after the function signals, and whether that was done while the function still ran. */
    mtb_event *done[WORK];
    bool was_early[WORK];
} slow;

static void be_slow(void *context) {
    slow *function = context;
    function->was_called = true;
    CHECK(mtb_event_wait(function->gate, 1, LONG, NULL) == MTB_OK);
    usleep(MOMENT_US);
    for (int i = 0; i < WORK; i++) function->was_early[i] = mtb_event_signaled_value(function->done[i]) > 0;
}

static void set_up(slow *function) {
    *function = (slow){.gate = make_event()};
    for (int i = 0; i < WORK; i++) function->done[i] = make_event();
}

static void tear_down(slow *function) {
    mtb_event_release(function->gate);
    for (int i = 0; i < WORK; i++) mtb_event_release(function->done[i]);
}

/* One of the command buffers after a function fails, or none does. Some were made before the call and some after it. */
static void later_work_waits_for_a_host_function_whatever_fails(void) {
    for (uint64_t failing = 2; failing <= WORK + 2; failing++)
        for (int made_before = 0; made_before <= WORK; made_before++) {
            slow function;
            mtb_command_buffer *called, *work[WORK];
            set_up(&function);
            for (int i = 0; i < made_before; i++) work[i] = make_on(shared.queue);
            smtl_inject_command_buffer_error(failing, 3);
            MAKE(called, mtb_command_queue_call_host_function(shared.queue, be_slow, NULL, &function, NULL, &error));
            for (int i = 0; i < WORK; i++) {
                if (i >= made_before) work[i] = make_on(shared.queue);
                encode_signal(work[i], function.done[i], 1);
                commit(work[i]);
                CHECK(mtb_command_buffer_get_status(work[i]) >= MTB_COMMAND_BUFFER_COMMITTED);
            }
            CHECK_OK(mtb_event_signal(function.gate, 1, &error));
            int failed = 0;
            for (int i = 0; i < WORK; i++) {
                mtb_status status = mtb_command_buffer_wait_timeout(work[i], LONG, NULL);
                CHECK(status == MTB_OK || status == MTB_COMMAND_BUFFER_FAILED);
                failed += status != MTB_OK;
                CHECK_OK(mtb_event_wait(function.done[i], 1, LONG, &error));
                CHECK(!function.was_early[i]);
                mtb_command_buffer_release(work[i]);
            }
            CHECK(function.was_called && failed == (failing <= WORK + 1));
            CHECK_OK(mtb_command_buffer_wait(called, &error));
            mtb_command_buffer_release(called);
            tear_down(&function);
            smtl_clear_injections();
        }
}

static void a_failed_host_function_is_not_called(void) {
    slow function;
    set_up(&function);
    mtb_command_buffer *called, *early = make_on(shared.queue);
    smtl_inject_command_buffer_error(1, 3);
    MAKE(called, mtb_command_queue_call_host_function(shared.queue, be_slow, NULL, &function, NULL, &error));
    mtb_command_buffer *late = make_on(shared.queue);
    commit(early);
    commit(late);
    CHECK(mtb_command_buffer_wait_timeout(called, LONG, NULL) == MTB_COMMAND_BUFFER_FAILED);
    CHECK_OK(mtb_command_buffer_wait_timeout(early, LONG, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(late, LONG, &error));
    CHECK(!function.was_called);
    mtb_command_buffer_release(called);
    mtb_command_buffer_release(early);
    mtb_command_buffer_release(late);
    tear_down(&function);
}

/* Two queues raise an event in turn. The second fails while the first is still at work. */
static void a_failed_signal_does_not_overtake_the_work_before_it(bool waits) {
    mtb_command_queue *other = make_queue();
    mtb_event *event = make_event(), *gate = make_event();
    mtb_command_buffer *first = make_on(shared.queue), *second = make_on(other);
    encode_wait(first, gate, 1);
    encode_signal(first, event, 5);
    /* The second signal comes after the first because it waits for it, or only because its value is larger. */
    if (waits) encode_wait(second, event, 5);
    encode_signal(second, event, 6);
    smtl_inject_command_buffer_error(waits ? 1 : 2, 3);
    if (waits) commit(second);
    commit(first);
    if (!waits) commit(second);
    CHECK(mtb_command_buffer_wait_timeout(second, LONG, NULL) == MTB_COMMAND_BUFFER_FAILED);
    CHECK(mtb_event_wait(event, 1, MOMENT_US * UINT64_C(1000), NULL) == MTB_TIMEOUT);
    CHECK(mtb_event_signaled_value(event) == 0);
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    CHECK_OK(mtb_event_wait(event, 6, LONG, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(first, LONG, &error));
    CHECK(mtb_event_signaled_value(event) == 6);
    mtb_command_buffer_release(first);
    mtb_command_buffer_release(second);
    mtb_event_release(event);
    mtb_event_release(gate);
    mtb_command_queue_release(other);
}

static void a_failed_signal_waits_as_its_command_buffer_did(void) {
    a_failed_signal_does_not_overtake_the_work_before_it(true);
}

static void a_failed_signal_waits_for_smaller_values(void) {
    a_failed_signal_does_not_overtake_the_work_before_it(false);
}

/* The event gets the value of the failed command buffer first, since nothing tells that a command buffer with a smaller
 * value has yet to be committed. */
static void a_late_signal_does_not_lower_an_event(void) {
    mtb_command_queue *other = make_queue();
    mtb_event *event = make_event();
    mtb_command_buffer *first = make_on(shared.queue), *second = make_on(other), *waiting = make_on(other);
    encode_signal(first, event, 5);
    encode_signal(second, event, 6);
    encode_wait(waiting, event, 6);
    smtl_inject_command_buffer_error(1, 3);
    commit(second);
    CHECK_OK(mtb_event_wait(event, 6, LONG, &error));
    commit(first);
    CHECK_OK(mtb_command_buffer_wait_timeout(first, LONG, &error));
    CHECK(mtb_event_signaled_value(event) == 6);
    commit(waiting);
    CHECK_OK(mtb_command_buffer_wait_timeout(waiting, LONG, &error));
    CHECK_FAILS(mtb_event_signal(event, 5, &error), MTB_OUT_OF_RANGE, "6");
    mtb_command_buffer_release(first);
    mtb_command_buffer_release(second);
    mtb_command_buffer_release(waiting);
    mtb_event_release(event);
    mtb_command_queue_release(other);
}

/* A chain of signals over two queues, of which any link may fail. The chain ends, and the events have all values. */
static void a_chain_of_signals_ends_whatever_fails(void) {
    enum {
        LINKS = 6
    };
    for (uint64_t failing = 1; failing <= LINKS; failing++) {
        mtb_command_queue *queues[] = {make_queue(), make_queue()};
        mtb_event *event = make_event();
        mtb_command_buffer *links[LINKS];
        smtl_inject_command_buffer_error(failing, 3);
        for (uint64_t i = 0; i < LINKS; i++) {
            links[i] = make_on(queues[i % 2]);
            encode_wait(links[i], event, i);
            encode_signal(links[i], event, i + 1);
            commit(links[i]);
        }
        CHECK_OK(mtb_event_wait(event, LINKS, LONG, &error));
        for (uint64_t i = 0; i < LINKS; i++) {
            CHECK(mtb_command_buffer_wait_timeout(links[i], LONG, NULL) ==
                  (i + 1 == failing ? MTB_COMMAND_BUFFER_FAILED : MTB_OK));
            mtb_command_buffer_release(links[i]);
        }
        CHECK(mtb_event_signaled_value(event) == LINKS);
        mtb_event_release(event);
        mtb_command_queue_release(queues[0]);
        mtb_command_queue_release(queues[1]);
    }
}

/* The failed command buffer waited for something that can never come. The rescue that signals in its place ends all the
 * same, and gives the event its value. */
static void a_rescue_that_waits_for_nobody_ends(void) {
    mtb_event *gone = make_event(), *event = make_event();
    mtb_command_buffer *failing = make_on(shared.queue);
    encode_wait(failing, gone, 1);
    encode_signal(failing, event, 1);
    smtl_inject_command_buffer_error(1, 3);
    commit(failing);
    CHECK(mtb_command_buffer_wait_timeout(failing, LONG, NULL) == MTB_COMMAND_BUFFER_FAILED);
    mtb_command_buffer_release(failing);
    CHECK(mtb_event_signaled_value(event) == 0);
    mtb_event_release(gone);
    CHECK_OK(mtb_event_wait(event, 1, LONG, &error));
    mtb_event_release(event);
}

const test failure_tests[] = {
    {"order: later work waits for a host function whatever fails", later_work_waits_for_a_host_function_whatever_fails},
    {"order: a failed host function is not called", a_failed_host_function_is_not_called},
    {"order: a failed signal waits as its command buffer did", a_failed_signal_waits_as_its_command_buffer_did},
    {"order: a failed signal waits for smaller values", a_failed_signal_waits_for_smaller_values},
    {"order: a late signal does not lower an event", a_late_signal_does_not_lower_an_event},
    {"order: a chain of signals ends whatever fails", a_chain_of_signals_ends_whatever_fails},
    {"order: a rescue that waits for nobody ends", a_rescue_that_waits_for_nobody_ends},
    {NULL, NULL},
};
