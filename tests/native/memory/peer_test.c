/* Copies between devices. Words of private buffers go through a remote view if the devices are peers, which the
 * software Metal's are with SOFTWARE_METAL_PEERS=1. All else goes by way of system memory. */
#include "support.h"

#include <stdlib.h>

enum {
    LENGTH = 9 << 20
};

static mtb_buffer *make_far_buffer(mtb_device *far, size_t length, mtb_storage_mode mode) {
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create(far, length, mode, &error));
    return buffer;
}

/* Out and back again, with nothing waited for in between. */
static void there_and_back(mtb_command_queue *queue, mtb_device *far, mtb_memory *memory, mtb_storage_mode mode,
                           mtb_storage_mode far_mode, size_t length, size_t offset) {
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *near = make_buffer_of(LENGTH, mode), *there = make_far_buffer(far, LENGTH, far_mode);
    uint8_t *in = malloc(length), *out = malloc(length), zero = 0;
    random_source source = {length + offset};
    for (size_t i = 0; i < length; i++) in[i] = (uint8_t)next_random(&source);
    CHECK_OK(mtb_transfer_copy(transfer, in_host(in), in_buffer(near, offset), length, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(near, offset), in_buffer(there, 2 * offset), length, 1,
                               MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(near, 0), LENGTH, 1, &zero, 1, &error));
    mtb_command_buffer *sent = commit(transfer);
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(there, 2 * offset), in_buffer(near, offset + 4), length, 1,
                               MTB_HOST_COPIED, &error));
    CHECK_OK(
        mtb_transfer_copy(transfer, in_buffer(near, offset + 4), in_host(out), length, 1, MTB_HOST_COPIED, &error));
    finish(commit(transfer));
    finish(sent);
    CHECK(memcmp(in, out, length) == 0);
    free(in);
    free(out);
    mtb_buffer_release(near);
    mtb_buffer_release(there);
    mtb_transfer_release(transfer);
}

static void buffers_of_two_devices(void) {
    mtb_device *far;
    mtb_command_queue *queue;
    if (mtb_device_count() < 2) return;
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    mtb_memory *memory = make_memory();
    for (mtb_storage_mode mode = MTB_STORAGE_SHARED; mode <= MTB_STORAGE_PRIVATE; mode++)
        for (mtb_storage_mode far_mode = MTB_STORAGE_SHARED; far_mode <= MTB_STORAGE_PRIVATE; far_mode++) {
            there_and_back(queue, far, memory, mode, far_mode, 1000, 0);
            there_and_back(queue, far, memory, mode, far_mode, 4097, 5);
        }
    /* A copy in pieces. */
    there_and_back(queue, far, memory, MTB_STORAGE_PRIVATE, MTB_STORAGE_PRIVATE, LENGTH - 64, 7);
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    bool are_peers = mtb_device_peer_group_id(shared.device) != 0;
    CHECK(statistics.transfers[MTB_TRANSFER_PEER].count == (are_peers ? 6 : 0));
    CHECK(statistics.transfers[MTB_TRANSFER_PEER_STAGED].count == (are_peers ? 32 : 38));
    mtb_memory_release(memory);
    mtb_command_queue_release(queue);
    mtb_device_release(far);
}

static void rows_between_devices(void) {
    enum {
        WIDTH = 37,
        HEIGHT = 50,
        PITCH = 64
    };
    static uint8_t in[PITCH * HEIGHT], out[PITCH * HEIGHT];
    mtb_device *far;
    mtb_command_queue *queue;
    if (mtb_device_count() < 2) return;
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *near = make_buffer_of(PITCH * HEIGHT, MTB_STORAGE_PRIVATE);
    mtb_buffer *there = make_far_buffer(far, PITCH * HEIGHT, MTB_STORAGE_SHARED);
    memset(mtb_buffer_contents(there), 0, PITCH * HEIGHT);
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 11);
    mtb_place from = {.buffer = near, .pitch = PITCH}, to = {.buffer = there, .offset = 1, .pitch = WIDTH + 2};
    CHECK_OK(mtb_transfer_copy(transfer, in_host(in), in_buffer(near, 0), sizeof in, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(transfer, from, to, WIDTH, HEIGHT, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    memcpy(out, mtb_buffer_contents(there), sizeof out);
    bool is_right = out[0] == 0;
    for (size_t row = 0; row < HEIGHT; row++)
        is_right = is_right && memcmp(out + 1 + row * (WIDTH + 2), in + row * PITCH, WIDTH) == 0 &&
                   out[1 + row * (WIDTH + 2) + WIDTH] == 0;
    CHECK(is_right);
    /* A copy that is not between two buffers needs a queue of the buffer's own device. */
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
    mtb_command_queue_release(queue);
    mtb_device_release(far);
}

/* What goes by way of system memory is staged: counted, used again, bounded, freed, and part of the budget. */
static void staging_between_devices_keeps_the_rules_of_staging(void) {
    enum {
        PIECE = 1 << 20,
        COPIES = 64,
        LIMIT = 2 * PIECE
    };
    mtb_device *far;
    mtb_memory *memory;
    if (mtb_device_count() < 2) return;
    mtb_memory_options options = {.budget = 8 * PIECE, .staging_limit = LIMIT};
    mtb_memory_statistics now;
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(memory, mtb_memory_create(shared.device, &options, &error));
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    /* Not private: no view reaches it. */
    mtb_buffer *near = make_buffer_of(8 * PIECE, MTB_STORAGE_SHARED);
    mtb_buffer *there = make_far_buffer(far, 8 * PIECE, MTB_STORAGE_SHARED);
    /* Many copies of one command buffer take one set of pages, and the next command buffer takes it again. */
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COPIES; i++)
            CHECK_OK(mtb_transfer_copy(transfer, in_buffer(i % 2 ? near : there, 8192 * i),
                                       in_buffer(i % 2 ? there : near, 8192 * i), 1000, 1, MTB_HOST_COPIED, &error));
        finish(commit(transfer));
        mtb_memory_get_statistics(memory, &now);
        CHECK(now.staging.misses == 1 && now.staging.hits == (uint64_t)round && now.staging.bytes_in_use == 0);
        CHECK(now.held == now.staging.bytes_kept && now.held >= 1000 && now.held <= 2 * mtb_page_size());
    }
    CHECK(mtb_memory_trim(memory, 0) == now.held);
    mtb_memory_get_statistics(memory, &now);
    CHECK(now.held == 0 && now.staging.trimmed == 1 && now.staging.objects_kept == 0);
    /* Staging beyond the limit is not kept. A copy beyond the budget gives an error, and later copies work. */
    mtb_event *gate;
    mtb_command_buffer *held = make_command_buffer(), *sent[16] = {NULL};
    MAKE(gate, mtb_event_create(shared.device, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(held, gate, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(held, &error));
    int count = 0;
    mtb_error *error = NULL;
    do {
        CHECK(mtb_transfer_copy(transfer, in_buffer(near, 0), in_buffer(there, 0), PIECE - 4, 1, MTB_HOST_COPIED,
                                NULL) == MTB_OK);
        sent[count] = mtb_transfer_commit(transfer, NULL, NULL, NULL, &error);
    } while (sent[count] && ++count < 16);
    check_error(error, MTB_OVER_BUDGET, "budget", "a copy more", __FILE__, __LINE__);
    CHECK(count == 8);
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    for (int i = 0; i < count; i++) finish(sent[i]);
    mtb_memory_get_statistics(memory, &now);
    CHECK(now.staging.bytes_in_use == 0 && now.held == LIMIT && now.staging.bytes_kept == LIMIT);
    finish(held);
    mtb_event_release(gate);
    mtb_buffer_release(near);
    mtb_buffer_release(there);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_device_release(far);
}

/* More rows than blits are used for elsewhere: only blits can read a view. */
static void rows_of_words_between_devices(void) {
    enum {
        WIDTH = 36,
        HEIGHT = 50,
        PITCH = 64
    };
    static uint8_t in[PITCH * HEIGHT], out[PITCH * HEIGHT], zero;
    mtb_device *far;
    mtb_command_queue *queue;
    if (mtb_device_count() < 2) return;
    MAKE(far, mtb_device_create_at(1, &error));
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *near = make_buffer_of(sizeof in, MTB_STORAGE_PRIVATE);
    mtb_buffer *there = make_far_buffer(far, sizeof in, MTB_STORAGE_PRIVATE);
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 11);
    mtb_place from = {.buffer = near, .pitch = PITCH}, between = {.buffer = there, .offset = 4, .pitch = WIDTH + 4};
    CHECK_OK(mtb_transfer_copy(transfer, in_host(in), in_buffer(near, 0), sizeof in, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(transfer, from, between, WIDTH, HEIGHT, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(near, 0), sizeof in, 1, &zero, 1, &error));
    CHECK_OK(mtb_transfer_copy(transfer, between, from, WIDTH, HEIGHT, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(near, 0), in_host(out), sizeof out, 1, MTB_HOST_BORROWED, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    bool is_right = true;
    for (size_t i = 0; i < sizeof out; i++) is_right = is_right && out[i] == (i % PITCH < WIDTH ? in[i] : 0);
    CHECK(is_right);
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(statistics.transfers[MTB_TRANSFER_PEER].count == (mtb_device_peer_group_id(shared.device) != 0 ? 2 : 0));
    mtb_buffer_release(near);
    mtb_buffer_release(there);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_command_queue_release(queue);
    mtb_device_release(far);
}

static mtb_transfer_statistics sum_of(const mtb_pair_statistics *pairs, size_t count, mtb_transfer_kind kind) {
    mtb_transfer_statistics sum = {0};
    for (size_t i = 0; i < count; i++)
        if (pairs[i].kind == kind) {
            sum.count += pairs[i].transfers.count;
            sum.bytes += pairs[i].transfers.bytes;
            sum.nanoseconds += pairs[i].transfers.nanoseconds;
        }
    return sum;
}

/* What the kinds say of all other devices together, the pairs say of each and of both directions. */
static void statistics_of_pairs(void) {
    enum {
        SIZE = 4096
    };
    mtb_device *far;
    if (mtb_device_count() < 2) return;
    MAKE(far, mtb_device_create_at(1, &error));
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *near = make_buffer_of(SIZE, MTB_STORAGE_PRIVATE);
    mtb_buffer *there = make_far_buffer(far, SIZE, MTB_STORAGE_PRIVATE);
    mtb_place here = in_buffer(near, 0), away = in_buffer(there, 0);
    mtb_pair_statistics pairs[4];
    CHECK(mtb_memory_get_pair_statistics(memory, pairs, 4) == 0);
    /* Two copies out and one back, of words and of other bytes, and one on this device. */
    for (size_t size = SIZE - 1; size <= SIZE; size++) {
        CHECK_OK(mtb_transfer_copy(transfer, here, away, size, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(mtb_transfer_copy(transfer, away, here, size, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(mtb_transfer_copy(transfer, here, away, size, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(mtb_transfer_copy(transfer, here, in_buffer(near, SIZE / 2), 8, 1, MTB_HOST_COPIED, &error));
        finish(commit(transfer));
    }
    size_t count = mtb_memory_get_pair_statistics(memory, pairs, 4);
    CHECK(count == (mtb_device_peer_group_id(shared.device) != 0 ? 4 : 2));
    CHECK(mtb_memory_get_pair_statistics(memory, NULL, 0) == count);
    mtb_device_info info;
    mtb_device_get_info(far, &info);
    uint64_t out = 0, back = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(pairs[i].other_registry_id == info.registry_id && pairs[i].transfers.nanoseconds > 0);
        *(pairs[i].is_from_other ? &back : &out) += pairs[i].transfers.bytes;
    }
    CHECK(out == 2 * (2 * SIZE - 1) && back == 2 * SIZE - 1);
    mtb_memory_statistics all;
    mtb_memory_get_statistics(memory, &all);
    for (mtb_transfer_kind kind = MTB_TRANSFER_PEER; kind <= MTB_TRANSFER_PEER_STAGED; kind++) {
        mtb_transfer_statistics sum = sum_of(pairs, count, kind), whole = all.transfers[kind];
        CHECK(sum.count == whole.count && sum.bytes == whole.bytes);
        /* Each pair's share is rounded down. */
        CHECK(sum.nanoseconds <= whole.nanoseconds && sum.nanoseconds + 8 >= whole.nanoseconds);
    }
    /* No more than there is memory for. */
    pairs[1].other_registry_id = 0;
    CHECK(mtb_memory_get_pair_statistics(memory, pairs, 1) == count && pairs[1].other_registry_id == 0);
    mtb_memory_reset_statistics(memory);
    CHECK(mtb_memory_get_pair_statistics(memory, pairs, 4) == 0);
    /* What was not committed does not count. */
    CHECK_OK(mtb_transfer_copy(transfer, here, away, SIZE, 1, MTB_HOST_COPIED, &error));
    mtb_transfer_release(transfer);
    CHECK(mtb_memory_get_pair_statistics(memory, pairs, 4) == 0);
    mtb_buffer_release(near);
    mtb_buffer_release(there);
    mtb_memory_release(memory);
    mtb_device_release(far);
}

/* Without access copies between peers go by way of system memory, and with access through a view again. */
static void peer_access_can_be_taken_and_given(void) {
    enum {
        SIZE = 4096
    };
    mtb_device *far;
    if (mtb_device_count() < 2) return;
    MAKE(far, mtb_device_create_at(1, &error));
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *near = make_buffer_of(SIZE, MTB_STORAGE_PRIVATE);
    mtb_buffer *there = make_far_buffer(far, SIZE, MTB_STORAGE_PRIVATE);
    const bool are_peers = mtb_device_peer_group_id(shared.device) != 0;
    CHECK_FAILS(mtb_memory_set_peer_access(NULL, far, true, &error), MTB_INVALID_ARGUMENT, "memory");
    CHECK_FAILS(mtb_memory_set_peer_access(memory, NULL, true, &error), MTB_INVALID_ARGUMENT, "device");
    CHECK_FAILS(mtb_memory_set_peer_access(memory, shared.device, true, &error), MTB_INVALID_ARGUMENT, "own device");
    for (int round = 0; round < 3; round++) {
        const bool has_access = round != 1;
        if (are_peers)
            CHECK_OK(mtb_memory_set_peer_access(memory, far, has_access, &error));
        else
            CHECK_FAILS(mtb_memory_set_peer_access(memory, far, has_access, &error), MTB_UNSUPPORTED, "not a peer");
        mtb_memory_reset_statistics(memory);
        CHECK_OK(
            mtb_transfer_copy(transfer, in_buffer(there, 0), in_buffer(near, 0), SIZE, 1, MTB_HOST_COPIED, &error));
        CHECK_OK(
            mtb_transfer_copy(transfer, in_buffer(near, 0), in_buffer(there, 0), SIZE, 1, MTB_HOST_COPIED, &error));
        finish(commit(transfer));
        mtb_memory_statistics statistics;
        mtb_memory_get_statistics(memory, &statistics);
        const uint64_t through_views = are_peers && has_access ? 2 : 0;
        CHECK(statistics.transfers[MTB_TRANSFER_PEER].count == through_views);
        CHECK(statistics.transfers[MTB_TRANSFER_PEER_STAGED].count == 2 - through_views);
    }
    mtb_transfer_release(transfer);
    mtb_buffer_release(near);
    mtb_buffer_release(there);
    mtb_memory_release(memory);
    mtb_device_release(far);
}

const test memory_peer_tests[] = {
    {"memory peers: buffers of two devices", buffers_of_two_devices},
    {"memory peers: rows between devices", rows_between_devices},
    {"memory peers: staging between devices keeps the rules of staging",
     staging_between_devices_keeps_the_rules_of_staging},
    {"memory peers: rows of words between devices", rows_of_words_between_devices},
    {"memory peers: statistics of pairs", statistics_of_pairs},
    {"memory peers: access can be taken and given", peer_access_can_be_taken_and_given},
    {NULL, NULL},
};
