/* Transfers that are pending: how many there may be, and what they hold. */
#include "support.h"

#include <stdlib.h>

static void count_call(void *context) { ++*(int *)context; }

/* What becomes of a context. */
typedef struct {
    int completions, destructions;
} noted;

static void note_completion(const mtb_completion *completion, void *context) {
    (void)completion;
    ((noted *)context)->completions++;
}

static void note_destruction(void *context) { ((noted *)context)->destructions++; }

/* Far more than Metal's own queues take. The calling thread waits for none of them. */
static void a_thousand_pending_transfers_are_not_waited_for(void) {
    enum {
        CALLS = 1000
    };
    static unsigned char bytes[CALLS];
    static mtb_command_buffer *calls[CALLS];
    mtb_command_queue *queue;
    mtb_event *gate;
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = make_buffer_of(CALLS, MTB_STORAGE_PRIVATE);
    int count = 0;
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(gate, mtb_event_create(shared.device, &error));
    mtb_command_buffer *held;
    MAKE(held, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(held, gate, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(held, &error));
    mtb_transfer *transfer = make_transfer(memory, queue);
    for (int i = 0; i < CALLS; i++) {
        unsigned char value = (unsigned char)(i * 7);
        if (i % 10 == 9) {
            MAKE(calls[i], mtb_command_queue_call_host_function(queue, count_call, NULL, &count, NULL, &error));
            continue;
        }
        CHECK_OK(
            mtb_transfer_copy(transfer, in_host(&value), in_buffer(buffer, (size_t)i), 1, 1, MTB_HOST_COPIED, &error));
        calls[i] = commit(transfer);
    }
    CHECK(mtb_command_buffer_get_status(calls[0]) < MTB_COMMAND_BUFFER_COMPLETED && count == 0);
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    for (int i = 0; i < CALLS; i++) finish(calls[i]);
    finish(held);
    copy(memory, queue, in_buffer(buffer, 0), in_host(bytes), CALLS);
    bool is_right = true;
    for (int i = 0; i < CALLS; i++) is_right = is_right && (i % 10 == 9 || bytes[i] == (unsigned char)(i * 7));
    CHECK(is_right && count == CALLS / 10);
    mtb_event_release(gate);
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
    mtb_command_queue_release(queue);
}

/* The queue is full behind an event that nobody signals. A call waits for a slot no longer than its timeout. */
static void a_full_queue_is_waited_for_no_longer_than_the_timeout(void) {
    enum {
        SLOTS = 1024,
        SHORT = 20000000
    };
    static mtb_command_buffer *fills[SLOTS];
    mtb_command_queue *queue;
    mtb_event *gate;
    mtb_command_buffer *held;
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = make_buffer_of(1, MTB_STORAGE_PRIVATE);
    unsigned char value = 1, other = 2, seen = 0;
    noted context = {0};
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(gate, mtb_event_create(shared.device, &error));
    MAKE(held, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(held, gate, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(held, &error));
    mtb_transfer *transfer = make_transfer(memory, queue);
    for (int i = 0; i < SLOTS; i++) {
        CHECK_OK(mtb_transfer_fill(transfer, in_buffer(buffer, 0), 1, 1, &value, 1, &error));
        MAKE(fills[i], mtb_transfer_commit_timeout(transfer, 0, NULL, NULL, NULL, &error));
    }
    const uint64_t timeouts[] = {0, SHORT};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(mtb_transfer_fill(transfer, in_buffer(buffer, 0), 1, 1, &other, 1, &error));
        CHECK_FAILS(
            mtb_transfer_commit_timeout(transfer, timeouts[i], note_completion, &context, note_destruction, &error),
            MTB_TIMEOUT, "in use");
        CHECK(context.destructions == i + 1);
    }
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    for (int i = 0; i < SLOTS; i++) finish(fills[i]);
    finish(held);
    /* Transfers that found no slot are not recorded any more, and no callback was called for them. */
    CHECK_OK(mtb_transfer_run(transfer, &error));
    copy(memory, queue, in_buffer(buffer, 0), in_host(&seen), 1);
    CHECK(seen == value && context.completions == 0 && context.destructions == 2);
    mtb_event_release(gate);
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
    mtb_command_queue_release(queue);
}

/* Large and small downloads to the same memory. The GPU itself writes the large one, after the CPU has done the small
 * ones before it; small ones after it wait for the GPU. The large one is not staged, however small the limit. */
static void large_downloads_behind_small_ones_are_not_staged(void) {
    enum {
        LARGE = 4 << 20,
        SMALL = 100,
        LIMIT = 64 << 10
    };
    mtb_memory *memory;
    mtb_command_queue *queue;
    mtb_event *gate;
    mtb_memory_options options = {.staging_limit = LIMIT};
    unsigned char *out = malloc(LARGE), one = 1, two = 2;
    MAKE(memory, mtb_memory_create(shared.device, &options, &error));
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *large = make_buffer_of(LARGE, MTB_STORAGE_PRIVATE), *small = make_buffer_of(SMALL, MTB_STORAGE_PRIVATE);
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(large, 0), LARGE, 1, &one, 1, &error));
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(small, 0), SMALL, 1, &two, 1, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    for (int round = 0; round < 20; round++) {
        /* The download that comes last is there in the end: the large one or the small one. */
        mtb_command_buffer *sent[4], *held;
        MAKE(gate, mtb_event_create(shared.device, &error));
        MAKE(held, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
        CHECK_OK(mtb_command_buffer_encode_wait(held, gate, 1, &error));
        CHECK_OK(mtb_command_buffer_commit(held, &error));
        for (int i = 0; i < 4; i++) {
            bool is_large = (i + round) % 2;
            CHECK_OK(mtb_transfer_copy(transfer, in_buffer(is_large ? large : small, 0), in_host(out),
                                       is_large ? LARGE : SMALL, 1, MTB_HOST_BORROWED, &error));
            sent[i] = commit(transfer);
        }
        mtb_memory_statistics now;
        mtb_memory_get_statistics(memory, &now);
        CHECK(now.held <= LIMIT && now.staging.high_water_bytes <= LIMIT);
        CHECK_OK(mtb_event_signal(gate, 1, &error));
        for (int i = 0; i < 4; i++) finish(sent[i]);
        finish(held);
        mtb_event_release(gate);
        CHECK(out[0] == (round % 2 ? 2 : 1) && out[SMALL - 1] == out[0] && out[SMALL] == 1 && out[LARGE - 1] == 1);
    }
    free(out);
    mtb_buffer_release(large);
    mtb_buffer_release(small);
    mtb_transfer_release(transfer);
    mtb_command_queue_release(queue);
    mtb_memory_release(memory);
}

const test memory_pending_tests[] = {
    {"memory pending: a thousand transfers and functions are not waited for",
     a_thousand_pending_transfers_are_not_waited_for},
    {"memory pending: a full queue is waited for no longer than the timeout",
     a_full_queue_is_waited_for_no_longer_than_the_timeout},
    {"memory pending: large downloads behind small ones are not staged",
     large_downloads_behind_small_ones_are_not_staged},
    {NULL, NULL},
};
