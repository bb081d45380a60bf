/* Copies between devices: through a remote view where they are peers (the software Metal's are with
 * SOFTWARE_METAL_PEERS=1), by way of system memory otherwise. */
#include "memory_support.h"

#include <stdlib.h>

enum { LENGTH = 9 << 20 };

static mtb_buffer *make_far_buffer(mtb_device *far, size_t length, mtb_storage_mode mode)
{
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create(far, length, mode, &error));
    return buffer;
}

/* Out and back again, each with odd offsets, with nothing waited for in between. */
static void there_and_back(mtb_queue *queue, mtb_device *far, mtb_memory *memory, mtb_storage_mode mode,
                           mtb_storage_mode far_mode, size_t length, size_t offset)
{
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *near = make_buffer_of(LENGTH, mode), *there = make_far_buffer(far, LENGTH, far_mode);
    uint8_t *in = malloc(length), *out = malloc(length), zero = 0;
    random_source source = {length + offset};
    for (size_t i = 0; i < length; i++)
        in[i] = (uint8_t)next_random(&source);
    CHECK_OK(mtb_transfer_copy(transfer, in_host(in), in_buffer(near, offset), length, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(near, offset), in_buffer(there, 2 * offset), length, 1,
                               MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(near, 0), LENGTH, 1, &zero, 1, &error));
    mtb_command_buffer *sent = commit(transfer);
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(there, 2 * offset), in_buffer(near, 3), length, 1, MTB_HOST_COPIED,
                               &error));
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(near, 3), in_host(out), length, 1, MTB_HOST_COPIED, &error));
    finish(commit(transfer));
    finish(sent);
    CHECK(memcmp(in, out, length) == 0);
    free(in);
    free(out);
    mtb_buffer_release(near);
    mtb_buffer_release(there);
    mtb_transfer_release(transfer);
}

static void buffers_of_two_devices(void)
{
    mtb_device *far;
    mtb_queue *queue;
    if (mtb_device_count() < 2)
        return;
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(queue, mtb_queue_create(shared.device, 0, &error));
    mtb_memory *memory = make_memory();
    for (mtb_storage_mode mode = MTB_STORAGE_SHARED; mode <= MTB_STORAGE_PRIVATE; mode++)
        for (mtb_storage_mode far_mode = MTB_STORAGE_SHARED; far_mode <= MTB_STORAGE_PRIVATE; far_mode++) {
            there_and_back(queue, far, memory, mode, far_mode, 1000, 0);
            there_and_back(queue, far, memory, mode, far_mode, 4097, 5);
        }
    /* In pieces. */
    there_and_back(queue, far, memory, MTB_STORAGE_PRIVATE, MTB_STORAGE_PRIVATE, LENGTH - 64, 7);
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    bool are_peers = mtb_device_peer_group_id(shared.device) != 0;
    CHECK(statistics.transfers[MTB_TRANSFER_PEER].count == (are_peers ? 14 : 0));
    CHECK(statistics.transfers[MTB_TRANSFER_PEER_STAGED].count == (are_peers ? 24 : 38));
    mtb_memory_release(memory);
    mtb_queue_release(queue);
    mtb_device_release(far);
}

static void rows_between_devices(void)
{
    enum { WIDTH = 37, HEIGHT = 50, PITCH = 64 };
    static uint8_t in[PITCH * HEIGHT], out[PITCH * HEIGHT];
    mtb_device *far;
    mtb_queue *queue;
    if (mtb_device_count() < 2)
        return;
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(queue, mtb_queue_create(shared.device, 0, &error));
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *near = make_buffer_of(PITCH * HEIGHT, MTB_STORAGE_PRIVATE);
    mtb_buffer *there = make_far_buffer(far, PITCH * HEIGHT, MTB_STORAGE_SHARED);
    memset(mtb_buffer_contents(there), 0, PITCH * HEIGHT);
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * 11);
    mtb_place from = {.buffer = near, .pitch = PITCH}, to = {.buffer = there, .offset = 1, .pitch = WIDTH + 2};
    CHECK_OK(mtb_transfer_copy(transfer, in_host(in), in_buffer(near, 0), sizeof in, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(transfer, from, to, WIDTH, HEIGHT, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    memcpy(out, mtb_buffer_contents(there), sizeof out);
    bool is_right = out[0] == 0;
    for (size_t row = 0; row < HEIGHT; row++)
        is_right = is_right && memcmp(out + 1 + row * (WIDTH + 2), in + row * PITCH, WIDTH) == 0
                   && out[1 + row * (WIDTH + 2) + WIDTH] == 0;
    CHECK(is_right);
    /* What is not between two buffers is for the device's own queue. */
    CHECK_FAILS(mtb_transfer_copy(transfer, in_host(in), in_buffer(there, 0), 4, 1, MTB_HOST_COPIED, &error),
                MTB_WRONG_DEVICE, "destination");
    CHECK_FAILS(mtb_transfer_copy(transfer, in_buffer(there, 0), in_host(out), 4, 1, MTB_HOST_COPIED, &error),
                MTB_WRONG_DEVICE, "source");
    CHECK_FAILS(mtb_transfer_copy(transfer, in_buffer(there, 0), in_buffer(there, 8), 4, 1, MTB_HOST_COPIED, &error),
                MTB_WRONG_DEVICE, "source");
    CHECK_FAILS(mtb_transfer_fill(transfer, in_buffer(there, 0), 4, 1, in, 1, &error), MTB_WRONG_DEVICE, "destination");
    mtb_buffer_release(near);
    mtb_buffer_release(there);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_queue_release(queue);
    mtb_device_release(far);
}

const test memory_peer_tests[] = {
    {"memory peers: buffers of two devices", buffers_of_two_devices},
    {"memory peers: rows between devices", rows_between_devices},
    {NULL, NULL},
};
