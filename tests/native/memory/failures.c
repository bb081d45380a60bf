/* Transfers and pools when allocations fail and command buffers end with an error: typed errors, nobody hangs, and
 * nothing is left behind. The software Metal does each on demand. */
#include "../failure_harness.h"

#include "metal_bridge_memory.h"

#include <stdlib.h>
#include <unistd.h>

/* A transfer whose command buffer fails says so, writes nothing to host memory, and gives its staging back. */
static void a_failed_transfer_says_so(void) {
    enum {
        SIZE = 5000
    };
    mtb_error *error = NULL;
    completion_record seen = {0};
    unsigned char in[SIZE], out[SIZE];
    memset(in, 1, SIZE);
    memset(out, 2, SIZE);
    mtb_memory *memory = mtb_memory_create(shared.device, NULL, NULL);
    mtb_transfer *transfer = mtb_transfer_create(memory, shared.queue, NULL);
    mtb_buffer *hidden = mtb_buffer_create(shared.device, SIZE, MTB_STORAGE_PRIVATE, NULL);
    mtb_place host_in = {.bytes = in}, host_out = {.bytes = out}, there = {.buffer = hidden};
    mtb_transfer_copy(transfer, host_in, there, SIZE, 1, MTB_HOST_COPIED, NULL);
    mtb_transfer_copy(transfer, there, host_out, SIZE, 1, MTB_HOST_COPIED, NULL);
    smtl_inject_command_buffer_error(1, 3);
    mtb_command_buffer *failing = mtb_transfer_commit(transfer, note_completion, &seen, NULL, &error);
    CHECK(mtb_command_buffer_wait(failing, &error) == MTB_COMMAND_BUFFER_FAILED);
    CHECK_STATUS(error, MTB_COMMAND_BUFFER_FAILED, 3);
    CHECK(seen.calls == 1 && seen.code == 3 && out[0] == 2 && out[SIZE - 1] == 2);
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(statistics.staging.bytes_in_use == 0 && statistics.transfers[MTB_TRANSFER_HOST_TO_PRIVATE].count == 0);
    mtb_command_buffer_release(failing);
    mtb_transfer_copy(transfer, host_in, there, SIZE, 1, MTB_HOST_COPIED, NULL);
    mtb_transfer_copy(transfer, there, host_out, SIZE, 1, MTB_HOST_COPIED, NULL);
    CHECK(mtb_transfer_run(transfer, NULL) == MTB_OK && memcmp(in, out, SIZE) == 0);
    mtb_buffer_release(hidden);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

/* A copy between devices has a command buffer on each device. Whichever fails, the copy says so. */
static void a_failed_copy_between_devices_says_so(void) {
    enum {
        SIZE = 10000
    };
    if (mtb_device_count() < 2) return;
    mtb_device *far = mtb_device_create_at(1, NULL);
    mtb_memory *memory = mtb_memory_create(shared.device, NULL, NULL);
    mtb_transfer *transfer = mtb_transfer_create(memory, shared.queue, NULL);
    mtb_place near = {.buffer = mtb_buffer_create(shared.device, SIZE, MTB_STORAGE_SHARED, NULL)};
    mtb_place there = {.buffer = mtb_buffer_create(far, SIZE, MTB_STORAGE_PRIVATE, NULL)};
    for (int way = 0; way < 2; way++)
        for (uint64_t nth = 1; nth <= 2; nth++) {
            mtb_error *error = NULL;
            mtb_transfer_copy(transfer, way ? near : there, way ? there : near, SIZE, 1, MTB_HOST_COPIED, NULL);
            smtl_inject_command_buffer_error(nth, 3);
            mtb_command_buffer *failing = mtb_transfer_commit(transfer, NULL, NULL, NULL, NULL);
            CHECK(mtb_command_buffer_wait(failing, &error) == MTB_COMMAND_BUFFER_FAILED);
            CHECK(mtb_command_buffer_get_status(failing) == MTB_COMMAND_BUFFER_ERROR);
            CHECK_STATUS(error, MTB_COMMAND_BUFFER_FAILED, 3);
            mtb_command_buffer_release(failing);
            mtb_transfer_copy(transfer, way ? near : there, way ? there : near, SIZE, 1, MTB_HOST_COPIED, NULL);
            CHECK(mtb_transfer_run(transfer, NULL) == MTB_OK);
        }
    mtb_buffer_release(near.buffer);
    mtb_buffer_release(there.buffer);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_device_release(far);
}

/* Once a wait has returned, nothing writes on the other device any more, even if the command buffer on this device has
 * failed while the other device was still busy. */
static void a_failed_copy_has_ended_on_both_devices(void) {
    enum {
        SIZE = 32 << 20
    };
    if (mtb_device_count() < 2) return;
    mtb_device *far = mtb_device_create_at(1, NULL);
    mtb_memory *memory = mtb_memory_create(shared.device, NULL, NULL);
    mtb_transfer *transfer = mtb_transfer_create(memory, shared.queue, NULL);
    mtb_place near = {.buffer = mtb_buffer_create(shared.device, SIZE, MTB_STORAGE_SHARED, NULL)};
    mtb_place there = {.buffer = mtb_buffer_create(far, SIZE, MTB_STORAGE_SHARED, NULL)};
    unsigned char *bytes = mtb_buffer_contents(there.buffer), *seen = malloc(SIZE);
    memset(bytes, 0x77, SIZE);
    /* The other side's command buffer is committed first. */
    smtl_inject_command_buffer_error(2, 3);
    mtb_transfer_copy(transfer, near, there, SIZE, 1, MTB_HOST_COPIED, NULL);
    mtb_command_buffer *failing = mtb_transfer_commit(transfer, NULL, NULL, NULL, NULL);
    CHECK(mtb_command_buffer_wait(failing, NULL) == MTB_COMMAND_BUFFER_FAILED);
    mtb_command_buffer_release(failing);
    memcpy(seen, bytes, SIZE);
    usleep(50000);
    CHECK(memcmp(seen, bytes, SIZE) == 0);
    free(seen);
    mtb_buffer_release(near.buffer);
    mtb_buffer_release(there.buffer);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_device_release(far);
}

/* Each allocation for a buffer and a transfer fails in turn. Without memory for the buffer there is an error, and the
 * next attempt works. The transfer does without the memory. */
static void failed_allocations_of_pools_are_errors(void) {
    enum {
        SIZE = 1 << 20
    };
    unsigned char *in = malloc(SIZE), *out = malloc(SIZE);
    memset(in, 7, SIZE);
    for (uint64_t nth = 1; nth <= 4; nth++) {
        mtb_error *error = NULL;
        mtb_memory *memory = mtb_memory_create(shared.device, NULL, NULL);
        mtb_transfer *transfer = mtb_transfer_create(memory, shared.queue, NULL);
        smtl_inject_allocation_failure(nth);
        mtb_buffer *hidden = mtb_memory_allocate(memory, SIZE, MTB_STORAGE_PRIVATE, &error);
        /* The first allocation cannot be tried again: the memory keeps nothing that it could free. */
        CHECK((hidden == NULL) == (nth == 1));
        if (!hidden) {
            CHECK_STATUS(error, MTB_OUT_OF_MEMORY, 0);
            hidden = mtb_memory_allocate(memory, SIZE, MTB_STORAGE_PRIVATE, NULL);
        }
        mtb_place host_in = {.bytes = in}, host_out = {.bytes = out}, there = {.buffer = hidden};
        memset(out, 0, SIZE);
        /* If the host's memory cannot be wrapped, it is staged. */
        mtb_transfer_copy(transfer, host_in, there, SIZE, 1, MTB_HOST_BORROWED, NULL);
        mtb_transfer_copy(transfer, there, host_out, SIZE, 1, MTB_HOST_BORROWED, NULL);
        CHECK(mtb_transfer_run(transfer, NULL) == MTB_OK);
        CHECK(memcmp(in, out, SIZE) == 0);
        smtl_clear_injections();
        mtb_buffer_release(hidden);
        mtb_transfer_release(transfer);
        mtb_memory_release(memory);
    }
    free(in);
    free(out);
}

/* If an allocation fails, the memory frees the buffers that it keeps and tries again. */
static void kept_buffers_are_freed_for_new_ones(void) {
    mtb_memory *memory = mtb_memory_create(shared.device, NULL, NULL);
    mtb_buffer_release(mtb_memory_allocate(memory, 4096, MTB_STORAGE_PRIVATE, NULL));
    smtl_inject_allocation_failure(1);
    mtb_buffer *buffer = mtb_memory_allocate(memory, 100000, MTB_STORAGE_PRIVATE, NULL);
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(buffer && statistics.buffers.trimmed == 1 && statistics.buffers.bytes_kept == 0);
    mtb_buffer_release(buffer);
    mtb_arena *arena = mtb_arena_create(memory, MTB_STORAGE_SHARED, 0, 0, NULL);
    mtb_error *error = NULL;
    /* The memory keeps the buffer that was released above. */
    smtl_inject_allocation_failure(1);
    mtb_buffer *scratch = mtb_arena_allocate(arena, 100, NULL);
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(scratch && statistics.buffers.trimmed == 2 && statistics.buffers.bytes_kept == 0);
    mtb_buffer_release(scratch);
    mtb_arena_trim(arena);
    /* The memory keeps nothing. */
    smtl_inject_allocation_failure(1);
    CHECK(!mtb_arena_allocate(arena, 100, &error));
    CHECK_STATUS(error, MTB_OUT_OF_MEMORY, 0);
    buffer = mtb_arena_allocate(arena, 100, NULL);
    CHECK(buffer);
    mtb_buffer_release(buffer);
    mtb_arena_release(arena);
    mtb_memory_release(memory);
}

const test failure_tests[] = {
    {"a failed transfer says so", a_failed_transfer_says_so},
    {"a failed copy between devices says so", a_failed_copy_between_devices_says_so},
    {"a failed copy has ended on both devices", a_failed_copy_has_ended_on_both_devices},
    {"failed allocations of pools are errors", failed_allocations_of_pools_are_errors},
    {"kept buffers are freed for new ones", kept_buffers_are_freed_for_new_ones},
    {NULL, NULL},
};
