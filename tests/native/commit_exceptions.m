/* Metal raises an exception in a commit, or after it. Whether Metal then does the work or never does it, contexts are
 * destroyed once, nobody waits for ever, and the counts of work are right. This test looks inside handles. */
#import "command/command_buffer.h"
#import "exceptions.h"
#import "metal_bridge_memory.h"

#include <pthread.h>

/* What becomes of a context. */
typedef struct {
    atomic_int calls, destructions;
    mtb_command_buffer_status status;
    mtb_status error;
} noted;

static void note_completion(const mtb_completion *completion, void *context) {
    noted *seen = context;
    seen->status = completion->status;
    seen->error = mtb_error_status(completion->error);
    atomic_fetch_add(&seen->calls, 1);
}

static void note_value(uint64_t value, void *context) {
    (void)value;
    atomic_fetch_add(&((noted *)context)->calls, 1);
}

static void note_call(void *context) { atomic_fetch_add(&((noted *)context)->calls, 1); }

static void note_destruction(void *context) { atomic_fetch_add(&((noted *)context)->destructions, 1); }

static bool is(const noted *seen, int calls, int destructions) {
    return atomic_load(&seen->calls) == calls && atomic_load(&seen->destructions) == destructions;
}

static IMP metals;

/* Takes the place of any method. */
static id raise_at_once(id self, SEL selector) {
    (void)self, (void)selector;
    [NSException raise:NSInvalidArgumentException format:@"raised before anything was done"];
    return nil;
}

static void commit_and_raise(id self, SEL selector) {
    ((void (*)(id, SEL))(void *)metals)(self, selector);
    [NSException raise:NSInvalidArgumentException format:@"raised after the commit"];
}

/* How many commits do their work before one raises an exception instead. */
static atomic_int commits_before;

static void commit_or_raise(id self, SEL selector) {
    if (atomic_fetch_sub(&commits_before, 1) == 0) raise_at_once(self, selector);
    ((void (*)(id, SEL))(void *)metals)(self, selector);
}

/* While `call` runs, command buffers have `method` in place of their own. */
#define WHILE_METAL(name, method, call) \
    WITH_METHOD([shared.queue->metal commandBuffer], @selector(name), method, metals, call)

static mtb_memory *memory;
static mtb_transfer *transfer;

static void let_end(void) {
    AWAIT(mtb_live_handles(MTB_HANDLE_COMMAND_BUFFER) == 0);
    CHECK(mtb_live_handles(MTB_HANDLE_COMMAND_BUFFER) == 0);
    CHECK(atomic_load(&shared.queue->running) == 0 && shared.queue->slots[MTBI_SLOT_CALLER].taken == 0);
}

/* A wait, a signal and a commit, in this order. */
static mtb_command_buffer *make_gated(mtb_event *gate, mtb_event *done, noted *seen) {
    mtb_command_buffer *made = make_command_buffer();
    CHECK_OK(mtb_command_buffer_encode_wait(made, gate, 1, &error));
    CHECK_OK(mtb_command_buffer_encode_signal(made, done, 1, &error));
    if (seen)
        CHECK_OK(mtb_command_buffer_add_completed_callback(made, note_completion, seen, note_destruction, &error));
    return made;
}

static mtb_event *make_event(void) {
    mtb_event *made;
    MAKE(made, mtb_event_create(shared.device, &error));
    return made;
}

/* Each call fails before Metal has anything that could call back. */
static void failed_calls_destroy_their_contexts(void) {
    mtb_error *error = NULL;
    noted commit = {0}, call = {0}, notify = {0};
    WITHOUT_METAL(shared.queue->metal,
                  CHECK(!mtb_transfer_commit(transfer, note_completion, &commit, note_destruction, &error)));
    CHECK_EXCEPTION(error, "mtb_transfer_commit");
    CHECK(is(&commit, 0, 1));
    WITHOUT_METAL(shared.queue->metal, CHECK(!mtb_command_queue_call_host_function(
                                           shared.queue, note_call, note_completion, &call, note_destruction, &error)));
    CHECK_EXCEPTION(error, "mtb_command_queue_call_host_function");
    CHECK(is(&call, 0, 1));
    mtb_event *event = make_event();
    WITH_METHOD(event->metal, @selector(notifyListener:atValue:block:), raise_at_once, metals,
                CHECK(mtb_event_notify(event, 1, note_value, &notify, note_destruction, &error) == MTB_EXCEPTION));
    CHECK_EXCEPTION(error, "mtb_event_notify");
    CHECK(is(&notify, 0, 1));
    mtb_event_release(event);
}

/* Metal raises at a commit, and does the work all the same. */
static void commits_that_raise_and_run_destroy_contexts_once(void) {
    mtb_error *error = NULL;
    noted sent = {0}, committed = {0};
    WHILE_METAL(commit, commit_and_raise,
                CHECK(!mtb_transfer_commit(transfer, note_completion, &sent, note_destruction, &error)));
    CHECK_EXCEPTION(error, "mtb_command_buffer_commit");
    mtb_command_buffer *raised = make_command_buffer();
    CHECK_OK(mtb_command_buffer_add_completed_callback(raised, note_completion, &committed, note_destruction, &error));
    WHILE_METAL(commit, commit_and_raise, CHECK(mtb_command_buffer_commit(raised, &error) == MTB_EXCEPTION));
    CHECK_EXCEPTION(error, "mtb_command_buffer_commit");
    CHECK_OK(mtb_command_buffer_wait_timeout(raised, LONG, &error));
    mtb_command_buffer_release(raised);
    let_end();
    CHECK(is(&sent, 1, 1) && is(&committed, 1, 1) && committed.status == MTB_COMMAND_BUFFER_COMPLETED);
}

/* Metal raises at a commit, and does nothing else: the command buffer has ended, and its context is gone. */
static void refuse(SEL selector) {
    mtb_error *error = NULL;
    noted sent = {0}, called = {0}, committed = {0};
    mtb_event *gate = make_event(), *done = make_event();
    mtb_command_buffer *refused = make_gated(gate, done, &committed);
    WITH_METHOD([shared.queue->metal commandBuffer], selector, raise_at_once, metals, {
        CHECK(!mtb_transfer_commit(transfer, note_completion, &sent, note_destruction, &error));
        CHECK_EXCEPTION(error, "mtb_command_buffer_commit");
        CHECK(!mtb_command_queue_call_host_function(shared.queue, note_call, note_completion, &called, note_destruction,
                                                    &error));
        CHECK_EXCEPTION(error, "mtb_command_queue_call_host_function");
        CHECK(mtb_command_buffer_commit(refused, &error) == MTB_EXCEPTION);
        CHECK_EXCEPTION(error, "mtb_command_buffer_commit");
    });
    CHECK(is(&sent, 0, 1) && is(&called, 0, 1) && is(&committed, 0, 1));
    CHECK(mtb_command_buffer_get_status(refused) == MTB_COMMAND_BUFFER_ERROR);
    CHECK_FAILS(mtb_command_buffer_wait_timeout(refused, LONG, &error), MTB_EXCEPTION, "at the commit");
    CHECK_FAILS(mtb_command_buffer_commit(refused, &error), MTB_INVALID_STATE, "has been committed");
    mtb_command_buffer_release(refused);
    mtb_event_release(gate);
    mtb_event_release(done);
    let_end();
    run(make_command_buffer());
}

static void refused_commits_destroy_contexts_at_once(void) {
    refuse(@selector(commit));
    refuse(@selector(addCompletedHandler:));
}

/* As many host copies and functions have ended as have begun. */
static void commits_that_raise_are_counted(void) {
    const struct {
        IMP method;
        uint64_t functions;
    } ways[] = {{(IMP)(void *)commit_and_raise, 1}, {(IMP)(void *)raise_at_once, 0}};
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create(shared.device, 4, MTB_STORAGE_PRIVATE, &error));
    for (int i = 0; i < 2; i++) {
        unsigned char bytes[4];
        noted seen = {0};
        const mtbi_host_copies *copies = &shared.queue->host_copies;
        const mtbi_host_functions *functions = &shared.queue->functions;
        uint64_t before = atomic_load(&functions->last);
        CHECK_OK(mtb_transfer_copy(transfer, (mtb_place){.buffer = buffer}, (mtb_place){.bytes = bytes}, 4, 1,
                                   MTB_HOST_COPIED, &error));
        WHILE_METAL(commit, ways[i].method, {
            CHECK_FAILS(mtb_transfer_commit(transfer, NULL, NULL, NULL, &error), MTB_EXCEPTION, "raised");
            CHECK_FAILS(mtb_command_queue_call_host_function(shared.queue, note_call, NULL, &seen, NULL, &error),
                        MTB_EXCEPTION, "raised");
        });
        let_end();
        CHECK(copies->event && atomic_load(&copies->committed) == atomic_load(&copies->made));
        CHECK(atomic_load(&functions->last) == before + ways[i].functions && is(&seen, (int)ways[i].functions, 0));
        CHECK(atomic_load(&functions->last) == atomic_load(&functions->returned));
    }
    mtb_buffer_release(buffer);
}

/* A copy by the CPU begins with an empty command buffer. If Metal raises at its commit, later work runs. */
static void a_cpu_copy_whose_commit_raises_ends(void) {
    unsigned char bytes[4] = {0};
    const IMP methods[] = {(IMP)(void *)commit_and_raise, (IMP)(void *)raise_at_once};
    const mtb_place host = {.bytes = bytes};
    for (int i = 0; i < 2; i++) {
        mtb_event *gate = make_event(), *done = make_event();
        mtb_command_buffer *busy = make_gated(gate, done, NULL);
        CHECK_OK(mtb_command_buffer_commit(busy, &error));
        CHECK_OK(mtb_transfer_fill(transfer, host, 4, 1, "a", 1, &error));
        WHILE_METAL(commit, methods[i], CHECK(mtb_transfer_run(transfer, NULL) == MTB_EXCEPTION));
        CHECK(bytes[0] == 0);
        /* The status tells of the exception even if there is no command buffer and the caller wants no error. */
        CHECK_OK(mtb_transfer_fill(transfer, host, 4, 1, "a", 1, &error));
        WITHOUT_METAL(shared.queue->metal, CHECK(mtb_transfer_run(transfer, NULL) == MTB_EXCEPTION));
        CHECK_OK(mtb_event_signal(gate, 1, &error));
        CHECK_OK(mtb_command_buffer_wait_timeout(busy, LONG, &error));
        mtb_command_buffer_release(busy);
        mtb_command_buffer *later = make_command_buffer();
        CHECK_OK(mtb_command_buffer_commit(later, &error));
        CHECK_OK(mtb_command_buffer_wait_timeout(later, LONG, &error));
        mtb_command_buffer_release(later);
        mtb_event_release(gate);
        mtb_event_release(done);
        let_end();
    }
}

static void await_gate(void *gate) { CHECK_OK(mtb_event_wait(gate, 1, LONG, &error)); }

/* Both commits have succeeded for the caller and are held up. One of them then fails, and the other still runs. */
static void held_up_commits_that_raise_fail(void) {
    enum {
        HELD = 2
    };
    noted seen[HELD] = {0};
    mtb_event *gate = make_event(), *signalled = make_event(), *done[HELD] = {make_event(), make_event()};
    mtb_command_buffer *held[HELD], *called;
    CHECK_OK(mtb_event_signal(signalled, 1, &error));
    for (int i = 0; i < HELD; i++) held[i] = make_gated(signalled, done[i], &seen[i]);
    MAKE(called, mtb_command_queue_call_host_function(shared.queue, await_gate, NULL, gate, NULL, &error));
    for (int i = 0; i < HELD; i++) CHECK_OK(mtb_command_buffer_commit(held[i], &error));
    atomic_store(&commits_before, 0);
    WHILE_METAL(commit, commit_or_raise, {
        CHECK_OK(mtb_event_signal(gate, 1, &error));
        CHECK_FAILS(mtb_command_buffer_wait_timeout(held[0], LONG, &error), MTB_EXCEPTION, "at the commit");
        /* Until now it has kept its position in the queue. */
        mtb_command_buffer_release(held[0]);
        CHECK_OK(mtb_command_buffer_wait_timeout(held[1], LONG, &error));
    });
    CHECK(is(&seen[0], 1, 1) && seen[0].status == MTB_COMMAND_BUFFER_ERROR && seen[0].error == MTB_EXCEPTION);
    CHECK(is(&seen[1], 1, 1) && seen[1].status == MTB_COMMAND_BUFFER_COMPLETED);
    for (int i = 0; i < HELD; i++) {
        CHECK_OK(mtb_event_wait(done[i], 1, LONG, &error));
        mtb_event_release(done[i]);
    }
    mtb_command_buffer_release(held[1]);
    mtb_command_buffer_release(called);
    mtb_event_release(gate);
    mtb_event_release(signalled);
    let_end();
}

/* Metal raises even when it is asked how the command buffer ended. That is the error, and whoever waits is woken. */
static void exceptions_at_the_end_are_errors(void) {
    noted seen = {0};
    mtb_event *gate = make_event(), *done = make_event();
    mtb_command_buffer *ending = make_gated(gate, done, &seen);
    CHECK_OK(mtb_command_buffer_commit(ending, &error));
    WHILE_METAL(status, raise_at_once, {
        CHECK_OK(mtb_event_signal(gate, 1, &error));
        AWAIT(mtbi_command_buffer_await(ending, 0));
        mtb_error *error = mtb_command_buffer_copy_error(ending);
        CHECK_EXCEPTION(error, "mtb_command_buffer_copy_error");
    });
    CHECK(is(&seen, 1, 1) && seen.status == MTB_COMMAND_BUFFER_ERROR && seen.error == MTB_EXCEPTION);
    mtb_command_buffer_release(ending);
    mtb_event_release(gate);
    mtb_event_release(done);
    let_end();
}

static void *signal_soon(void *event) {
    usleep(50000);
    mtb_event_signal(event, 1, NULL);
    return NULL;
}

/* A caller frees its memory when the call returns, even if it fails. Here Metal raises before the GPU has begun. */
static void runs_that_raise_return_when_the_transfer_has_ended(void) {
    const struct {
        SEL selector;
        IMP method;
        const char *function;
    } raised[] = {
        {@selector(commit), (IMP)(void *)commit_and_raise, "mtb_command_buffer_commit"},
        {@selector(waitUntilCompleted), (IMP)(void *)raise_at_once, "mtb_command_buffer_wait"},
    };
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create(shared.device, 4, MTB_STORAGE_PRIVATE, &error));
    for (int i = 0; i < 2; i++) {
        unsigned char pattern = (unsigned char)(5 + i), bytes[4] = {0};
        const mtb_place in_buffer = {.buffer = buffer}, in_host = {.bytes = bytes};
        mtb_error *error = NULL;
        pthread_t signaller;
        mtb_event *gate = make_event(), *done = make_event();
        mtb_command_buffer *held = make_gated(gate, done, NULL);
        mtb_command_buffer_commit(held, NULL);
        mtb_transfer_fill(transfer, in_buffer, 4, 1, &pattern, 1, NULL);
        mtb_transfer_copy(transfer, in_buffer, in_host, 4, 1, MTB_HOST_BORROWED, NULL);
        pthread_create(&signaller, NULL, signal_soon, gate);
        WITH_METHOD([shared.queue->metal commandBuffer], raised[i].selector, raised[i].method, metals,
                    CHECK(mtb_transfer_run(transfer, &error) == MTB_EXCEPTION));
        CHECK_EXCEPTION(error, raised[i].function);
        CHECK(bytes[0] == pattern && bytes[3] == pattern);
        pthread_join(signaller, NULL);
        mtb_command_buffer_wait(held, NULL);
        mtb_command_buffer_release(held);
        mtb_event_release(gate);
        mtb_event_release(done);
    }
    mtb_buffer_release(buffer);
    let_end();
}

/* A transfer has its own command buffer, and one on the other device for each size of copies. One of these raises. What
 * was committed before it has ended when the call returns, and its pages are back. */
static void copies_between_devices_that_raise_have_ended(void) {
    enum {
        SMALL = 5000,
        LARGE = 32 << 20
    };
    if (mtb_device_count() < 2) return;
    mtb_device *far;
    mtb_place near = {0}, there = {0};
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(near.buffer, mtb_buffer_create(shared.device, LARGE, MTB_STORAGE_SHARED, &error));
    MAKE(there.buffer, mtb_buffer_create(far, LARGE, MTB_STORAGE_SHARED, &error));
    unsigned char *bytes = mtb_buffer_contents(there.buffer);
    mtb_memory_trim(memory, 0);
    for (int before = 0; before < 3; before++) {
        memset(bytes, 0x77, LARGE);
        noted context = {0};
        mtb_memory_statistics statistics;
        CHECK_OK(mtb_transfer_copy(transfer, near, there, SMALL, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(mtb_transfer_copy(transfer, there, near, 4, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(mtb_transfer_copy(transfer, near, there, LARGE, 1, MTB_HOST_COPIED, &error));
        atomic_store(&commits_before, before);
        WHILE_METAL(commit, commit_or_raise,
                    CHECK_FAILS(mtb_transfer_commit(transfer, note_completion, &context, note_destruction, &error),
                                MTB_EXCEPTION, "raised"));
        /* The byte that is copied last. */
        unsigned char last = bytes[LARGE - 1];
        mtb_memory_get_statistics(memory, &statistics);
        CHECK(is(&context, 0, 1) && statistics.staging.bytes_in_use == 0 && statistics.staging.objects_kept == 2);
        usleep(50000);
        CHECK(bytes[LARGE - 1] == last);
        let_end();
        /* The pages serve the next copy. */
        CHECK_OK(mtb_transfer_copy(transfer, near, there, LARGE, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(mtb_transfer_run(transfer, &error));
    }
    mtb_buffer_release(near.buffer);
    mtb_buffer_release(there.buffer);
    mtb_device_release(far);
}

static const test tests[] = {
    {"failed calls destroy their contexts", failed_calls_destroy_their_contexts},
    {"commits that raise and run destroy contexts once", commits_that_raise_and_run_destroy_contexts_once},
    {"refused commits destroy contexts at once", refused_commits_destroy_contexts_at_once},
    {"commits that raise are counted", commits_that_raise_are_counted},
    {"a CPU copy whose commit raises ends", a_cpu_copy_whose_commit_raises_ends},
    {"held up commits that raise fail", held_up_commits_that_raise_fail},
    {"exceptions at the end are errors", exceptions_at_the_end_are_errors},
    {"runs that raise return when the transfer has ended", runs_that_raise_return_when_the_transfer_has_ended},
    {"copies between devices that raise have ended", copies_between_devices_that_raise_have_ended},
};

int main(void) {
    MAKE(shared.device, mtb_device_create_default(&error));
    MAKE(shared.queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(memory, mtb_memory_create(shared.device, NULL, &error));
    MAKE(transfer, mtb_transfer_create(memory, shared.queue, &error));
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        int before = failed_checks();
        @autoreleasepool {
            tests[i].run();
        }
        printf("%s %s\n", failed_checks() == before ? "ok    " : "FAILED", tests[i].name);
    }
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_command_queue_release(shared.queue);
    mtb_device_release(shared.device);
    CHECK(live_handles() == 0);
    printf("%s\n", failed_checks() ? "FAILED" : "all passed");
    return failed_checks() != 0;
}
