/* Pools: what is reused, what is given back, and what does not fit. */
#include "support.h"

#include <stdlib.h>
#include <unistd.h>

static mtb_memory *make_memory_with(mtb_memory_options options) {
    mtb_memory *memory;
    MAKE(memory, mtb_memory_create(shared.device, &options, &error));
    return memory;
}

static mtb_memory_statistics statistics_of(mtb_memory *memory) {
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    return statistics;
}

static mtb_buffer *allocate(mtb_memory *memory, size_t length) {
    mtb_buffer *buffer;
    MAKE(buffer, mtb_memory_allocate(memory, length, MTB_STORAGE_PRIVATE, &error));
    CHECK(mtb_buffer_length(buffer) == length);
    return buffer;
}

static void buffers_are_reused_within_a_factor_of_two(void) {
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = allocate(memory, 100000);
    uint64_t made = mtb_made_handles(MTB_HANDLE_BUFFER);
    mtb_buffer_release(buffer);
    for (size_t length = 100000; length > 54000; length -= 1000) mtb_buffer_release(allocate(memory, length));
    CHECK(mtb_made_handles(MTB_HANDLE_BUFFER) == made);
    CHECK(statistics_of(memory).buffers.hits == 46 && statistics_of(memory).buffers.misses == 1);
    /* The kept buffer is too large for the first, too small for the next, and of another storage mode than the last. */
    mtb_buffer *small = allocate(memory, 40000), *large = allocate(memory, 200000), *other;
    MAKE(other, mtb_memory_allocate(memory, 100000, MTB_STORAGE_SHARED, &error));
    CHECK(mtb_buffer_contents(other) != NULL);
    CHECK(statistics_of(memory).buffers.misses == 4 && statistics_of(memory).buffers.objects_kept == 1);
    mtb_buffer_release(small);
    mtb_buffer_release(large);
    mtb_buffer_release(other);
    mtb_memory_release(memory);
}

static void every_length_has_a_class(void) {
    mtb_memory *memory = make_memory();
    for (size_t length = 1; length < 40 << 20; length += 1 + length / 3) {
        mtb_buffer *buffer = allocate(memory, length);
        uint64_t held = statistics_of(memory).buffers.bytes_in_use;
        CHECK(held >= length && held % 256 == 0 && (held <= 2 * length || held == 256));
        mtb_buffer_release(buffer);
        CHECK(mtb_memory_trim(memory, 0) == held);
    }
    CHECK(statistics_of(memory).held == 0);
    mtb_memory_release(memory);
}

static void the_budget_holds(void) {
    mtb_memory *memory = make_memory_with((mtb_memory_options){.budget = 1 << 20, .cache_limit = 1 << 20});
    mtb_buffer *half = allocate(memory, 512 << 10), *quarter = allocate(memory, 256 << 10);
    CHECK_FAILS(mtb_memory_allocate(memory, 512 << 10, MTB_STORAGE_PRIVATE, &error), MTB_OVER_BUDGET, "1048576");
    CHECK_FAILS(mtb_memory_allocate(memory, 2 << 20, MTB_STORAGE_SHARED, &error), MTB_OVER_BUDGET, "budget");
    /* The memory frees the buffer that it keeps, to stay within the budget. */
    mtb_buffer_release(half);
    CHECK(statistics_of(memory).buffers.bytes_kept == 512 << 10);
    mtb_buffer *other = allocate(memory, 640 << 10);
    CHECK(statistics_of(memory).buffers.bytes_kept == 0 && statistics_of(memory).buffers.trimmed == 1);
    /* Staging counts towards the budget too, and fails in the same way. */
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    static char bytes[400 << 10];
    CHECK_FAILS(
        mtb_transfer_copy(transfer, in_host(bytes), in_buffer(other, 0), sizeof bytes, 1, MTB_HOST_COPIED, &error),
        MTB_OVER_BUDGET, "budget");
    /* The status is the same for a caller that does not want the error. */
    CHECK(mtb_transfer_copy(transfer, in_host(bytes), in_buffer(other, 0), sizeof bytes, 1, MTB_HOST_COPIED, NULL) ==
          MTB_OVER_BUDGET);
    CHECK_OK(mtb_transfer_copy(transfer, in_host(bytes), in_buffer(other, 0), 64 << 10, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    mtb_transfer_release(transfer);
    mtb_buffer_release(other);
    mtb_buffer_release(quarter);
    CHECK_FAILS(mtb_memory_allocate(memory, 0, MTB_STORAGE_SHARED, &error), MTB_INVALID_ARGUMENT, "at least 1 byte");
    CHECK_FAILS(mtb_memory_allocate(memory, 4, (mtb_storage_mode)3, &error), MTB_INVALID_ARGUMENT, "storage mode 3");
    CHECK_FAILS(mtb_memory_allocate(NULL, 4, MTB_STORAGE_SHARED, &error), MTB_INVALID_ARGUMENT, "`memory` is NULL");
    CHECK_FAILS(mtb_memory_allocate(memory, SIZE_MAX, MTB_STORAGE_SHARED, &error), MTB_OUT_OF_RANGE, "largest");
    mtb_memory_release(memory);
}

static void limits_bound_what_is_kept(void) {
    enum {
        SIZE = 64 << 10
    };
    static char bytes[SIZE];
    mtb_memory *memory = make_memory_with((mtb_memory_options){.staging_limit = 3 * SIZE, .cache_limit = 2 * SIZE});
    mtb_buffer *buffers[5];
    for (int i = 0; i < 5; i++) buffers[i] = allocate(memory, SIZE);
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    for (int i = 0; i < 5; i++)
        CHECK_OK(
            mtb_transfer_copy(transfer, in_host(bytes), in_buffer(buffers[i], 0), SIZE, 1, MTB_HOST_COPIED, &error));
    CHECK(statistics_of(memory).staging.bytes_in_use == 5 * SIZE);
    CHECK_OK(mtb_transfer_run(transfer, &error));
    mtb_transfer_release(transfer);
    for (int i = 0; i < 5; i++) mtb_buffer_release(buffers[i]);
    mtb_memory_statistics statistics = statistics_of(memory);
    CHECK(statistics.staging.bytes_in_use == 0 && statistics.staging.bytes_kept == 3 * SIZE);
    CHECK(statistics.staging.high_water_bytes == 5 * SIZE && statistics.staging.trimmed == 2);
    CHECK(statistics.buffers.bytes_kept == 2 * SIZE && statistics.buffers.trimmed == 3);
    CHECK(statistics.held == 5 * SIZE);
    mtb_memory_release(memory);
}

static void what_is_idle_goes(void) {
    mtb_memory *memory = make_memory_with((mtb_memory_options){.idle_ns = 20000000});
    mtb_command_queue *queue;
    mtb_buffer_release(allocate(memory, 4096));
    MAKE(queue, mtb_memory_acquire_queue(memory, &error));
    mtb_command_queue_release(queue);
    /* Queues are freed after buffers. */
    AWAIT(statistics_of(memory).queues.objects_kept == 0);
    CHECK(statistics_of(memory).held == 0 && statistics_of(memory).queues.objects_kept == 0);
    /* And again, once the timer's thread has ended. */
    mtb_buffer_release(allocate(memory, 4096));
    AWAIT(statistics_of(memory).held == 0);
    CHECK(statistics_of(memory).held == 0);
    mtb_memory_release(memory);
}

/* A released buffer is not handed out while work that was encoded uses it. */
static void buffers_in_flight_are_not_reused(void) {
    enum {
        SIZE = 4096
    };
    mtb_memory *memory = make_memory();
    mtb_event *event;
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_compute_encoder *encoder;
    mtb_pipeline *pipeline = make_pipeline("add");
    MAKE(event, mtb_event_create(shared.device, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(command_buffer, event, 1, &error));
    mtb_buffer *first = allocate(memory, SIZE), *second = allocate(memory, SIZE), *third = allocate(memory, SIZE);
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, first, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_use_buffer(encoder, second, MTB_USAGE_READ, &error));
    mtb_compute_encoder_release(encoder);
    mtb_blit_encoder *blit;
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, third, 0, SIZE, 1, &error));
    mtb_blit_encoder_release(blit);
    mtb_buffer_release(first);
    mtb_buffer_release(second);
    mtb_buffer_release(third);
    CHECK(statistics_of(memory).buffers.objects_in_use == 3);
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    mtb_buffer_release(allocate(memory, SIZE));
    CHECK(statistics_of(memory).buffers.misses == 4 && statistics_of(memory).buffers.objects_in_use == 3);
    CHECK_OK(mtb_event_signal(event, 1, &error));
    finish(command_buffer);
    CHECK(statistics_of(memory).buffers.objects_in_use == 0 && statistics_of(memory).buffers.objects_kept == 4);
    /* A command buffer that is never committed releases its buffers too. */
    command_buffer = make_command_buffer();
    first = allocate(memory, SIZE);
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, first, 0, SIZE, 1, &error));
    mtb_blit_encoder_release(blit);
    mtb_buffer_release(first);
    mtb_command_buffer_release(command_buffer);
    CHECK(statistics_of(memory).buffers.objects_in_use == 0);
    mtb_pipeline_release(pipeline);
    mtb_event_release(event);
    mtb_memory_release(memory);
}

static void reused_buffers_are_as_new(void) {
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = allocate(memory, 1000);
    CHECK_OK(mtb_buffer_set_label(buffer, "weights", &error));
    mtb_buffer_release(buffer);
    buffer = allocate(memory, 900);
    CHECK(mtb_buffer_copy_label(buffer) == NULL);
    CHECK_FAILS(mtb_blit_encoder_fill(NULL, buffer, 0, 4, 0, &error), MTB_INVALID_ARGUMENT, "NULL");
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit;
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_FAILS(mtb_blit_encoder_fill(blit, buffer, 0, 904, 0, &error), MTB_OUT_OF_RANGE, "900 bytes");
    mtb_blit_encoder_release(blit);
    mtb_command_buffer_release(command_buffer);
    /* A buffer in use outlives the handle of its memory. */
    mtb_memory_release(memory);
    mtb_buffer_release(buffer);
}

static void queues_are_reused(void) {
    mtb_memory *memory = make_memory();
    mtb_command_queue *first, *second;
    MAKE(first, mtb_memory_acquire_queue(memory, &error));
    mtb_command_buffer *command_buffer;
    MAKE(command_buffer, mtb_command_buffer_create(first, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    mtb_command_queue_release(first);
    /* The first queue's work is not done, so the memory makes another queue. */
    MAKE(second, mtb_memory_acquire_queue(memory, &error));
    CHECK(second != first);
    run(command_buffer);
    AWAIT(statistics_of(memory).queues.objects_kept > 0);
    mtb_command_queue *third;
    MAKE(third, mtb_memory_acquire_queue(memory, &error));
    CHECK(third == first && statistics_of(memory).queues.hits == 1 && statistics_of(memory).queues.misses == 2);
    CHECK_OK(mtb_command_queue_set_label(third, "mine", &error));
    mtb_command_queue_release(second);
    mtb_command_queue_release(third);
    CHECK(statistics_of(memory).queues.objects_kept == 1 && statistics_of(memory).queues.objects_in_use == 0);
    CHECK_FAILS(mtb_memory_acquire_queue(NULL, &error), MTB_INVALID_ARGUMENT, "`memory` is NULL");
    mtb_memory_release(memory);
}

static void nothing(void *context) { (void)context; }

static void a_steady_stream_allocates_nothing(void) {
    enum {
        SIZE = 20000
    };
    static char in[SIZE], out[SIZE];
    mtb_memory *memory = make_memory();
    uint64_t buffers = 0, queues = 0, events = 0;
    for (int round = 0; round < 200; round++) {
        mtb_command_queue *queue;
        mtb_command_buffer *called;
        MAKE(queue, mtb_memory_acquire_queue(memory, &error));
        mtb_buffer *hidden = allocate(memory, SIZE - (size_t)round);
        mtb_transfer *transfer = make_transfer(memory, queue);
        size_t length = SIZE - (size_t)round;
        CHECK_OK(
            mtb_transfer_copy(transfer, in_host(in), in_buffer(hidden, 1), length - 1, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(mtb_transfer_copy(transfer, in_buffer(hidden, 0), in_host(out), length, 1, MTB_HOST_COPIED, &error));
        finish(commit(transfer));
        MAKE(called, mtb_command_queue_call_host_function(queue, nothing, NULL, NULL, NULL, &error));
        finish(called);
        mtb_transfer_release(transfer);
        mtb_buffer_release(hidden);
        mtb_command_queue_release(queue);
        /* The queue comes back with its last command buffer, which may be a moment later. */
        AWAIT(statistics_of(memory).queues.objects_in_use == 0);
        if (round == 1) {
            buffers = mtb_made_handles(MTB_HANDLE_BUFFER);
            queues = mtb_made_handles(MTB_HANDLE_QUEUE);
            events = mtb_made_handles(MTB_HANDLE_EVENT);
        }
    }
    CHECK(mtb_made_handles(MTB_HANDLE_BUFFER) == buffers && mtb_made_handles(MTB_HANDLE_QUEUE) == queues);
    CHECK(mtb_made_handles(MTB_HANDLE_EVENT) == events);
    mtb_memory_release(memory);
}

const test memory_pool_tests[] = {
    {"memory pool: buffers are reused within a factor of two", buffers_are_reused_within_a_factor_of_two},
    {"memory pool: every length has a class", every_length_has_a_class},
    {"memory pool: the budget holds", the_budget_holds},
    {"memory pool: limits bound what is kept", limits_bound_what_is_kept},
    {"memory pool: what is idle goes", what_is_idle_goes},
    {"memory pool: buffers in flight are not reused", buffers_in_flight_are_not_reused},
    {"memory pool: reused buffers are as new", reused_buffers_are_as_new},
    {"memory pool: queues are reused", queues_are_reused},
    {"memory pool: a steady stream allocates nothing", a_steady_stream_allocates_nothing},
    {NULL, NULL},
};
