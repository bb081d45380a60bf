/* Commits that fail without an exception: because one of the bridge's allocations fails, because of the caller's
 * mistake, or on the GPU. Each gives an error that says which, and destroys its context once. */
#include "failure_harness.h"

#include "metal_bridge_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The Makefile leads the bridge's allocations to these functions. On this thread the nth from now on fails; 0: none. */
static _Thread_local unsigned failing;

static bool must_fail(void) { return failing > 0 && --failing == 0; }

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) { return must_fail() ? NULL : malloc(size); }

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) { return must_fail() ? NULL : calloc(count, size); }

void *__wrap_realloc(void *bytes, size_t size);
void *__wrap_realloc(void *bytes, size_t size) { return must_fail() ? NULL : realloc(bytes, size); }

int __wrap_posix_memalign(void **bytes, size_t alignment, size_t size);
int __wrap_posix_memalign(void **bytes, size_t alignment, size_t size) {
    return must_fail() ? ENOMEM : posix_memalign(bytes, alignment, size);
}

/* What becomes of a context. */
typedef struct {
    atomic_int calls, functions, destructions;
} noted;

static void note_end(const mtb_completion *completion, void *context) {
    (void)completion;
    atomic_fetch_add(&((noted *)context)->calls, 1);
}

static void note_function(void *context) { atomic_fetch_add(&((noted *)context)->functions, 1); }

static void note_destruction(void *context) { atomic_fetch_add(&((noted *)context)->destructions, 1); }

/* A failed commit has destroyed the context when it returns, and has not called back. Another commit calls back once
 * and then destroys the context. */
static void check_context(mtb_command_buffer *committed, const noted *seen, bool is_function) {
    int calls = committed ? 1 : 0;
    if (committed) {
        CHECK_OK(mtb_command_buffer_wait_timeout(committed, LONG, &error));
        mtb_command_buffer_release(committed);
    }
    CHECK(atomic_load(&seen->calls) == calls && atomic_load(&seen->destructions) == 1);
    CHECK(atomic_load(&seen->functions) == (is_function ? calls : 0));
}

/* What is committed, and what the commit needs. */
typedef struct {
    mtb_memory *memory;
    mtb_transfer *transfer;
    mtb_place near, far;
    unsigned char bytes[5000];
} scene;

static void record_host_copy(scene *on) {
    const mtb_place host = {.bytes = on->bytes};
    CHECK_OK(mtb_transfer_copy(on->transfer, on->near, host, sizeof on->bytes, 1, MTB_HOST_COPIED, &error));
}

/* The copies go through pages of two sizes, so that there are command buffers for both. */
static void record_copies_between_devices(scene *on) {
    CHECK_OK(mtb_transfer_copy(on->transfer, on->near, on->far, 5000, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(on->transfer, on->far, on->near, 50000, 1, MTB_HOST_COPIED, &error));
}

static mtb_command_buffer *commit_transfer(scene *on, noted *seen, mtb_error **error) {
    return mtb_transfer_commit(on->transfer, note_end, seen, note_destruction, error);
}

static void record_nothing(scene *on) { (void)on; }

static mtb_command_buffer *call_host_function(scene *on, noted *seen, mtb_error **error) {
    (void)on;
    return mtb_command_queue_call_host_function(shared.queue, note_function, note_end, seen, note_destruction, error);
}

/* Makes one allocation after the other fail, until a commit needs no more of them. */
static void fail_each_allocation(scene *on, void (*record)(scene *),
                                 mtb_command_buffer *(*commit)(scene *, noted *, mtb_error **)) {
    int failures = 0;
    unsigned left = 0;
    for (unsigned nth = 1; left == 0; nth++) {
        mtb_error *error = NULL;
        mtb_memory_statistics statistics;
        noted seen = {0};
        mtb_memory_trim(on->memory, 0);
        record(on);
        failing = nth;
        mtb_command_buffer *committed = commit(on, &seen, &error);
        left = failing;
        failing = 0;
        failures += committed == NULL;
        if (!committed) CHECK_STATUS(error, MTB_OUT_OF_MEMORY, 0);
        check_context(committed, &seen, commit == call_host_function);
        mtb_memory_get_statistics(on->memory, &statistics);
        CHECK(statistics.staging.bytes_in_use == 0 && statistics.staging.objects_in_use == 0);
    }
    CHECK(failures > 2);
}

static void commits_without_memory_destroy_their_contexts(void) {
    scene on = {0};
    MAKE(on.memory, mtb_memory_create(shared.device, NULL, &error));
    MAKE(on.transfer, mtb_transfer_create(on.memory, shared.queue, &error));
    MAKE(on.near.buffer, mtb_buffer_create(shared.device, 50000, MTB_STORAGE_PRIVATE, &error));
    fail_each_allocation(&on, record_host_copy, commit_transfer);
    fail_each_allocation(&on, record_nothing, call_host_function);
    if (mtb_device_count() > 1) {
        mtb_device *far;
        MAKE(far, mtb_device_create_at(1, &error));
        MAKE(on.far.buffer, mtb_buffer_create(far, 50000, MTB_STORAGE_SHARED, &error));
        fail_each_allocation(&on, record_copies_between_devices, commit_transfer);
        mtb_buffer_release(on.far.buffer);
        mtb_device_release(far);
    }
    mtb_buffer_release(on.near.buffer);
    mtb_transfer_release(on.transfer);
    mtb_memory_release(on.memory);
}

/* Metal has no memory for the second pages of a transfer: the pool has the first. */
static void pages_of_a_copy_that_lacks_others_are_kept(void) {
    if (mtb_device_count() < 2) return;
    scene on = {0};
    mtb_device *far;
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(on.memory, mtb_memory_create(shared.device, NULL, &error));
    MAKE(on.transfer, mtb_transfer_create(on.memory, shared.queue, &error));
    MAKE(on.near.buffer, mtb_buffer_create(shared.device, 50000, MTB_STORAGE_PRIVATE, &error));
    MAKE(on.far.buffer, mtb_buffer_create(far, 50000, MTB_STORAGE_SHARED, &error));
    /* Pages are wrapped on both devices. */
    for (uint64_t nth = 1; nth <= 4; nth++) {
        mtb_memory_statistics statistics;
        mtb_error *error = NULL;
        noted seen = {0};
        mtb_memory_trim(on.memory, 0);
        record_copies_between_devices(&on);
        smtl_inject_allocation_failure(nth);
        CHECK(!commit_transfer(&on, &seen, &error));
        CHECK_STATUS(error, MTB_OUT_OF_MEMORY, 0);
        check_context(NULL, &seen, false);
        mtb_memory_get_statistics(on.memory, &statistics);
        CHECK(statistics.staging.bytes_in_use == 0 && statistics.staging.objects_kept == (nth > 2));
        CHECK(statistics.held == statistics.staging.bytes_kept);
    }
    mtb_buffer_release(on.near.buffer);
    mtb_buffer_release(on.far.buffer);
    mtb_transfer_release(on.transfer);
    mtb_memory_release(on.memory);
    mtb_device_release(far);
}

/* A caller may release the event that a command buffer waits for, and then commit the command buffer. */
static void a_commit_that_could_never_end_destroys_its_context(void) {
    noted seen = {0};
    mtb_event *gone;
    mtb_command_buffer *waiting = make_command_buffer();
    MAKE(gone, mtb_event_create(shared.device, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(waiting, gone, 1, &error));
    CHECK_OK(mtb_command_buffer_add_completed_callback(waiting, note_end, &seen, note_destruction, &error));
    mtb_event_release(gone);
    CHECK_FAILS(mtb_command_buffer_commit(waiting, &error), MTB_DEADLOCK, "nothing can signal it");
    /* The callback is still the command buffer's, which was not committed. */
    CHECK(atomic_load(&seen.destructions) == 0);
    mtb_command_buffer_release(waiting);
    check_context(NULL, &seen, false);
}

static void a_commit_that_fails_on_the_gpu_destroys_its_context(void) {
    noted seen = {0};
    scene on = {0};
    mtb_error *error = NULL;
    MAKE(on.memory, mtb_memory_create(shared.device, NULL, &error));
    MAKE(on.transfer, mtb_transfer_create(on.memory, shared.queue, &error));
    MAKE(on.near.buffer, mtb_buffer_create(shared.device, 50000, MTB_STORAGE_PRIVATE, &error));
    record_host_copy(&on);
    smtl_inject_command_buffer_error(1, 3);
    mtb_command_buffer *failed = commit_transfer(&on, &seen, &error);
    CHECK(mtb_command_buffer_wait_timeout(failed, LONG, &error) == MTB_COMMAND_BUFFER_FAILED);
    CHECK_STATUS(error, MTB_COMMAND_BUFFER_FAILED, 3);
    CHECK(atomic_load(&seen.calls) == 1 && atomic_load(&seen.destructions) == 1);
    mtb_command_buffer_release(failed);
    mtb_buffer_release(on.near.buffer);
    mtb_transfer_release(on.transfer);
    mtb_memory_release(on.memory);
}

static void errors_without_memory_say_their_status(void) {
    mtb_error *error = NULL;
    failing = 1;
    CHECK(mtb_transfer_run(NULL, &error) == MTB_INVALID_ARGUMENT);
    CHECK(failing == 0 && mtb_live_handles(MTB_HANDLE_ERROR) == 0);
    CHECK(mtb_error_function(error) && mtb_error_domain(error));
    CHECK_STATUS(error, MTB_INVALID_ARGUMENT, 0);
}

const test failure_tests[] = {
    {"commits without memory destroy their contexts", commits_without_memory_destroy_their_contexts},
    {"pages of a copy that lacks others are kept", pages_of_a_copy_that_lacks_others_are_kept},
    {"a commit that could never end destroys its context", a_commit_that_could_never_end_destroys_its_context},
    {"a commit that fails on the GPU destroys its context", a_commit_that_fails_on_the_gpu_destroys_its_context},
    {"errors without memory say their status", errors_without_memory_say_their_status},
    {NULL, NULL},
};
