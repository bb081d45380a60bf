/* A child of fork() has none of Metal's threads. Its calls on the parent's objects, and calls that make new objects,
 * are refused at once. */
#include "memory/support.h"
#include "metal_bridge_functions.h"
#include "metal_bridge_indirect.h"

#include <sys/wait.h>
#include <unistd.h>

enum {
    SIZE = 64
};

/* What the child has from its parent. */
typedef struct {
    mtb_memory *memory;
    mtb_transfer *transfer;
    mtb_buffer *buffer;
    mtb_event *event;
    /* Waits for the event. */
    mtb_command_buffer *pending;
    mtb_command_buffer *recorded;
    /* Two with an encoder each. */
    mtb_command_buffer *encoded[2];
    mtb_compute_encoder *compute;
    mtb_blit_encoder *blit;
    mtb_indirect_command_buffer *commands;
} inherited;

static void ignore(void *context) { (void)context; }

/* Every kind of call that would start work, wait for it, or make something. */
static void ask_for_everything(const inherited *of) {
    static const char why[] = "child of fork()";
    unsigned char bytes[SIZE];
    CHECK(mtb_process_is_forked());
    CHECK_FAILS(mtb_device_create_default(&error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_device_create_at(0, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_command_queue_create(shared.device, 0, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_buffer_create(shared.device, SIZE, MTB_STORAGE_SHARED, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_event_create(shared.device, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_library_create_from_source(shared.device, "", 0, NULL, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_command_buffer_create(shared.queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error),
                MTB_INVALID_STATE, why);
    const mtb_indirect_descriptor descriptor = {.command_types = MTB_INDIRECT_DISPATCH_THREADS};
    CHECK_FAILS(mtb_indirect_command_buffer_create(shared.device, &descriptor, 1, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_indirect_command_buffer_reset(of->commands, 0, 1, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_indirect_command_set_barrier(of->commands, 0, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&(mtb_pipeline_descriptor){0}, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_dynamic_library_create_from_file(shared.device, "/", &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_command_buffer_commit(of->recorded, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_command_buffer_wait(of->pending, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_command_buffer_wait_timeout(of->pending, MTB_FOREVER, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_event_signal(of->event, 1, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_event_wait(of->event, 1, MTB_FOREVER, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(
        mtb_transfer_copy(of->transfer, in_host(bytes), in_buffer(of->buffer, 0), SIZE, 1, MTB_HOST_COPIED, &error),
        MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_transfer_run(of->transfer, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_transfer_commit(of->transfer, NULL, NULL, NULL, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_transfer_commit_timeout(of->transfer, MTB_FOREVER, NULL, NULL, NULL, &error), MTB_INVALID_STATE,
                why);
    CHECK_FAILS(mtb_command_queue_call_host_function(shared.queue, ignore, NULL, NULL, NULL, &error), MTB_INVALID_STATE,
                why);
    CHECK_FAILS(mtb_memory_create(shared.device, NULL, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_memory_allocate(of->memory, SIZE, MTB_STORAGE_SHARED, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_memory_acquire_queue(of->memory, &error), MTB_INVALID_STATE, why);
}

/* Encoders work without Metal for long. */
static void ask_encoders(const inherited *of) {
    static const char why[] = "child of fork()";
    mtb_size one = {1, 1, 1};
    CHECK_FAILS(mtb_compute_encoder_set_label(of->compute, "label", &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_set_buffer_offset(of->compute, 0, 0, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_set_visible_function_table(of->compute, NULL, 0, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_set_threadgroup_memory(of->compute, 16, 0, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_dispatch_threads(of->compute, one, one, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_execute_commands(of->compute, of->commands, 0, 1, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_memory_barrier(of->compute, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_push_debug_group(of->compute, "group", &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_pop_debug_group(of->compute, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_compute_encoder_end(of->compute, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_blit_encoder_set_label(of->blit, "label", &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_blit_encoder_fill(of->blit, of->buffer, 0, SIZE, 0, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_blit_encoder_reset_commands(of->blit, of->commands, 0, 1, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_blit_encoder_push_debug_group(of->blit, "group", &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_blit_encoder_pop_debug_group(of->blit, &error), MTB_INVALID_STATE, why);
    CHECK_FAILS(mtb_blit_encoder_end(of->blit, &error), MTB_INVALID_STATE, why);
}

static void release(const inherited *of) {
    mtb_compute_encoder_release(of->compute);
    mtb_blit_encoder_release(of->blit);
    mtb_indirect_command_buffer_release(of->commands);
    for (int i = 0; i < 2; i++) mtb_command_buffer_release(of->encoded[i]);
    mtb_command_buffer_release(of->recorded);
    mtb_command_buffer_release(of->pending);
    mtb_event_release(of->event);
    mtb_buffer_release(of->buffer);
    mtb_transfer_release(of->transfer);
    mtb_memory_release(of->memory);
}

static void a_child_of_fork_is_refused_at_once(void) {
    inherited of = {.memory = make_memory(),
                    .buffer = make_buffer(SIZE),
                    .pending = make_command_buffer(),
                    .recorded = make_command_buffer(),
                    .encoded = {make_command_buffer(), make_command_buffer()}};
    mtb_buffer *kept;
    of.transfer = make_transfer(of.memory, shared.queue);
    MAKE(of.compute, mtb_compute_encoder_create(of.encoded[0], MTB_DISPATCH_SERIAL, &error));
    const mtb_indirect_descriptor descriptor = {.command_types = MTB_INDIRECT_DISPATCH_THREADS};
    MAKE(of.commands, mtb_indirect_command_buffer_create(shared.device, &descriptor, 1, &error));
    MAKE(of.blit, mtb_blit_encoder_create(of.encoded[1], &error));
    MAKE(kept, mtb_memory_allocate(of.memory, SIZE, MTB_STORAGE_SHARED, &error));
    mtb_buffer_release(kept);
    MAKE(of.event, mtb_event_create(shared.device, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(of.pending, of.event, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(of.pending, &error));
    CHECK(!mtb_process_is_forked());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        /* A call that hangs ends the child. */
        alarm(60);
        int failures_before = failed_checks();
        ask_for_everything(&of);
        ask_encoders(&of);
        CHECK(mtb_memory_trim(of.memory, 0) == 0);
        release(&of);
        fflush(stdout);
        _exit(failed_checks() != failures_before);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    /* The parent still works. */
    CHECK_OK(mtb_event_signal(of.event, 1, &error));
    CHECK_OK(mtb_command_buffer_wait(of.pending, &error));
    run(of.recorded);
    of.recorded = NULL;
    CHECK(mtb_memory_trim(of.memory, 0) >= SIZE);
    release(&of);
}

const test fork_tests[] = {
    {"fork: a child is refused at once, and its parent goes on", a_child_of_fork_is_refused_at_once},
    {NULL, NULL},
};
