/* Arenas and residency sets. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BLOCK = 1 << 20
};

static mtb_arena *make_arena(mtb_memory *memory, mtb_storage_mode mode, size_t limit) {
    mtb_arena *arena;
    MAKE(arena, mtb_arena_create(memory, mode, BLOCK, limit, &error));
    return arena;
}

static mtb_buffer *allocate(mtb_arena *arena, size_t length) {
    mtb_buffer *buffer;
    MAKE(buffer, mtb_arena_allocate(arena, length, &error));
    CHECK(mtb_buffer_length(buffer) == length);
    return buffer;
}

static mtb_pool_statistics statistics_of(mtb_arena *arena) {
    mtb_pool_statistics statistics;
    mtb_arena_get_statistics(arena, &statistics);
    return statistics;
}

static void heaps_are_shared_by_buffers(void) {
    mtb_memory *memory = make_memory();
    mtb_arena *arena = make_arena(memory, MTB_STORAGE_SHARED, 0);
    mtb_buffer *buffers[8];
    for (int i = 0; i < 8; i++) {
        buffers[i] = allocate(arena, BLOCK / 8);
        memset(mtb_buffer_contents(buffers[i]), i, BLOCK / 8);
    }
    for (int i = 0; i < 8; i++) CHECK(((uint8_t *)mtb_buffer_contents(buffers[i]))[BLOCK / 8 - 1] == i);
    CHECK(statistics_of(arena).misses == 1 && statistics_of(arena).hits == 7);
    CHECK(statistics_of(arena).bytes_in_use == BLOCK && statistics_of(arena).bytes_kept == 0);
    /* The next buffer has the memory of one that is gone. */
    void *contents = mtb_buffer_contents(buffers[3]);
    mtb_buffer_release(buffers[3]);
    buffers[3] = allocate(arena, BLOCK / 8);
    CHECK(mtb_buffer_contents(buffers[3]) == contents);
    /* Larger than a block: a heap of its own. */
    mtb_buffer *large = allocate(arena, 3 * BLOCK);
    CHECK(statistics_of(arena).misses == 2 && statistics_of(arena).high_water_bytes == 4 * BLOCK);
    mtb_buffer_release(large);
    CHECK(mtb_arena_trim(arena) == 3 * BLOCK);
    for (int i = 0; i < 8; i++) mtb_buffer_release(buffers[i]);
    CHECK(statistics_of(arena).bytes_in_use == 0 && statistics_of(arena).objects_kept == 1);
    CHECK(mtb_memory_trim(memory, 0) == BLOCK);
    CHECK(statistics_of(arena).bytes_kept == 0 && statistics_of(arena).trimmed == 2);
    mtb_arena_release(arena);
    mtb_memory_release(memory);
}

static void limits_hold(void) {
    mtb_memory *memory;
    mtb_memory_options options = {.budget = 3 * BLOCK};
    MAKE(memory, mtb_memory_create(shared.device, &options, &error));
    mtb_arena *bounded = make_arena(memory, MTB_STORAGE_PRIVATE, 2 * BLOCK);
    mtb_arena *free_one = make_arena(memory, MTB_STORAGE_PRIVATE, 0);
    mtb_buffer *first = allocate(bounded, BLOCK), *second = allocate(bounded, BLOCK);
    CHECK_FAILS(mtb_arena_allocate(bounded, 4, &error), MTB_OVER_BUDGET, "limit");
    mtb_buffer *third = allocate(free_one, BLOCK);
    CHECK_FAILS(mtb_arena_allocate(free_one, BLOCK, &error), MTB_OVER_BUDGET, "budget");
    CHECK_FAILS(mtb_memory_allocate(memory, 4, MTB_STORAGE_SHARED, &error), MTB_OVER_BUDGET, "budget");
    /* An allocation from the memory frees heaps that are empty. */
    mtb_buffer_release(first);
    mtb_buffer *other;
    MAKE(other, mtb_memory_allocate(memory, BLOCK, MTB_STORAGE_SHARED, &error));
    mtb_buffer_release(other);
    mtb_buffer_release(second);
    mtb_buffer_release(third);
    CHECK_FAILS(mtb_arena_create(NULL, MTB_STORAGE_SHARED, 0, 0, &error), MTB_INVALID_ARGUMENT, "`memory` is NULL");
    CHECK_FAILS(mtb_arena_create(memory, MTB_STORAGE_MANAGED, 0, 0, &error), MTB_INVALID_ARGUMENT, "storage mode 1");
    CHECK_FAILS(mtb_arena_allocate(NULL, 4, &error), MTB_INVALID_ARGUMENT, "`arena` is NULL");
    CHECK_FAILS(mtb_arena_allocate(bounded, 0, &error), MTB_INVALID_ARGUMENT, "at least 1 byte");
    CHECK_FAILS(mtb_arena_allocate(bounded, SIZE_MAX, &error), MTB_OUT_OF_RANGE, "largest");
    CHECK(mtb_arena_trim(NULL) == 0);
    mtb_arena_release(bounded);
    mtb_arena_release(free_one);
    mtb_memory_release(memory);
}

/* A limit or a budget leaves less than a block, but enough for the allocation. */
static void blocks_are_as_large_as_the_limit_allows(void) {
    mtb_memory *memory;
    mtb_memory_options options = {.budget = 2 * BLOCK};
    MAKE(memory, mtb_memory_create(shared.device, &options, &error));
    mtb_arena *arenas[2];
    MAKE(arenas[0], mtb_arena_create(memory, MTB_STORAGE_PRIVATE, 0, BLOCK, &error));
    MAKE(arenas[1], mtb_arena_create(memory, MTB_STORAGE_PRIVATE, 0, 0, &error));
    mtb_buffer *small = allocate(arenas[0], BLOCK / 4), *rest = allocate(arenas[0], BLOCK / 2);
    mtb_buffer *large = allocate(arenas[1], BLOCK);
    mtb_pool_statistics statistics;
    mtb_arena_get_statistics(arenas[0], &statistics);
    CHECK(statistics.misses == 1 && statistics.high_water_bytes == BLOCK);
    CHECK_FAILS(mtb_arena_allocate(arenas[0], BLOCK / 2, &error), MTB_OVER_BUDGET, "limit");
    CHECK_FAILS(mtb_arena_allocate(arenas[1], BLOCK, &error), MTB_OVER_BUDGET, "budget");
    mtb_buffer_release(small);
    mtb_buffer_release(rest);
    mtb_buffer_release(large);
    for (int i = 0; i < 2; i++) mtb_arena_release(arenas[i]);
    mtb_memory_release(memory);
}

typedef struct {
    mtb_arena *arena;
    mtb_buffer *buffers[200];
    int count;
} filler;

static void *fill(void *argument) {
    filler *own = argument;
    mtb_error *error = NULL;
    while (own->count < 200 && (own->buffers[own->count] = mtb_arena_allocate(own->arena, 256, &error))) own->count++;
    CHECK(own->count < 200 && mtb_error_status(error) == MTB_OVER_BUDGET);
    mtb_error_release(error);
    return NULL;
}

/* Metal rounds the sizes of heaps, and many threads need one at a time. */
static void limits_hold_for_odd_blocks(void) {
    enum {
        THREADS = 8
    };
    const size_t blocks[] = {1, 257, 999, 1000, 4000, 0};
    const size_t limit = 2 * mtb_page_size() + 1000;
    for (size_t i = 0; i < 2 * sizeof blocks / sizeof *blocks; i++) {
        mtb_memory *memory;
        bool is_bounded = i % 2;
        mtb_memory_options options = {.budget = is_bounded ? 0 : limit};
        MAKE(memory, mtb_memory_create(shared.device, &options, &error));
        uint64_t before = mtb_device_current_allocated_size(shared.device);
        mtb_arena *arena;
        MAKE(arena, mtb_arena_create(memory, MTB_STORAGE_PRIVATE, blocks[i / 2], is_bounded ? limit : 0, &error));
        filler fillers[THREADS];
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++) {
            fillers[t] = (filler){.arena = arena};
            CHECK(pthread_create(&threads[t], NULL, fill, &fillers[t]) == 0);
        }
        for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
        mtb_pool_statistics statistics = statistics_of(arena);
        mtb_memory_statistics all;
        mtb_memory_get_statistics(memory, &all);
        CHECK(statistics.bytes_in_use > 0 && statistics.bytes_in_use <= limit);
        CHECK(statistics.bytes_kept <= limit - statistics.bytes_in_use && statistics.high_water_bytes <= limit);
        CHECK(all.held == statistics.bytes_in_use + statistics.bytes_kept);
        CHECK(mtb_device_current_allocated_size(shared.device) - before == all.held);
        for (int t = 0; t < THREADS; t++)
            while (fillers[t].count > 0) mtb_buffer_release(fillers[t].buffers[--fillers[t].count]);
        CHECK(statistics_of(arena).bytes_in_use == 0);
        mtb_arena_release(arena);
        mtb_memory_get_statistics(memory, &all);
        CHECK(all.held == 0);
        mtb_memory_release(memory);
    }
}

static void *allocate_one(void *arena) { return mtb_arena_allocate(arena, 16 << 10, NULL); }

/* What fits into one heap is not refused because another thread is making that heap. */
static void threads_share_the_heap_that_one_makes(void) {
    enum {
        THREADS = 4,
        ROUNDS = 300
    };
    mtb_memory *memory = make_memory();
    for (int round = 0; round < ROUNDS; round++) {
        mtb_arena *arena = make_arena(memory, MTB_STORAGE_PRIVATE, BLOCK);
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++) CHECK(pthread_create(&threads[t], NULL, allocate_one, arena) == 0);
        for (int t = 0; t < THREADS; t++) {
            void *buffer;
            pthread_join(threads[t], &buffer);
            CHECK(buffer != NULL);
            mtb_buffer_release(buffer);
        }
        CHECK(statistics_of(arena).misses == 1 && statistics_of(arena).hits == THREADS - 1);
        mtb_arena_release(arena);
    }
    mtb_memory_release(memory);
}

/* The limit is below a block and no size of a heap. */
static void a_heap_of_what_the_limit_leaves_is_shared(void) {
    mtb_memory *memory = make_memory();
    mtb_arena *arena = make_arena(memory, MTB_STORAGE_PRIVATE, BLOCK - 1000);
    mtb_buffer *buffers[8];
    for (int i = 0; i < 8; i++) buffers[i] = allocate(arena, 4096);
    CHECK(statistics_of(arena).misses == 1 && statistics_of(arena).hits == 7);
    for (int i = 0; i < 8; i++) mtb_buffer_release(buffers[i]);
    mtb_arena_release(arena);
    mtb_memory_release(memory);
}

/* A buffer's memory is not used again while work that was encoded uses it; buffers outlive the handles of arena and
 * memory. */
static void ranges_in_flight_are_not_reused(void) {
    enum {
        SIZE = BLOCK / 2
    };
    static uint8_t in[SIZE];
    mtb_memory *memory = make_memory();
    mtb_arena *arena = make_arena(memory, MTB_STORAGE_SHARED, 0);
    mtb_event *event;
    mtb_command_buffer *gate = make_command_buffer();
    MAKE(event, mtb_event_create(shared.device, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(gate, event, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(gate, &error));
    mtb_buffer *first = allocate(arena, SIZE);
    void *contents = mtb_buffer_contents(first);
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    CHECK_OK(mtb_transfer_copy(transfer, in_host(in), in_buffer(first, 0), SIZE, 1, MTB_HOST_COPIED, &error));
    mtb_command_buffer *copied = commit(transfer);
    mtb_buffer_release(first);
    mtb_buffer *second = allocate(arena, SIZE);
    CHECK(mtb_buffer_contents(second) != contents);
    CHECK_OK(mtb_event_signal(event, 1, &error));
    finish(copied);
    mtb_buffer *third = allocate(arena, SIZE);
    CHECK(mtb_buffer_contents(third) == contents);
    mtb_transfer_release(transfer);
    mtb_arena_release(arena);
    mtb_memory_release(memory);
    memset(mtb_buffer_contents(third), 1, SIZE);
    mtb_buffer_release(third);
    mtb_buffer_release(second);
    mtb_command_buffer_release(gate);
    mtb_event_release(event);
}

static void residency_sets_hold_buffers(void) {
    mtb_residency_set *set;
    CHECK(mtb_device_supports_residency_sets(shared.device));
    MAKE(set, mtb_residency_set_create(shared.device, &error));
    mtb_buffer *a = make_buffer(BLOCK), *b = make_buffer(BLOCK);
    uint64_t live = mtb_live_handles(MTB_HANDLE_BUFFER);
    CHECK_OK(mtb_residency_set_add_buffer(set, a, &error));
    CHECK_OK(mtb_residency_set_add_buffer(set, a, &error));
    CHECK_OK(mtb_residency_set_add_buffer(set, b, &error));
    CHECK(mtb_residency_set_allocated_size(set) == 0);
    CHECK_OK(mtb_residency_set_commit(set, &error));
    CHECK(mtb_residency_set_allocated_size(set) == 2 * BLOCK);
    CHECK_OK(mtb_command_queue_add_residency_set(shared.queue, set, &error));
    CHECK_OK(mtb_residency_set_request(set, 0, &error));
    CHECK_OK(mtb_residency_set_request(set, MTB_FOREVER, &error));
    run(make_command_buffer());
    CHECK_OK(mtb_residency_set_remove_buffer(set, b, &error));
    CHECK_FAILS(mtb_residency_set_remove_buffer(set, b, &error), MTB_NOT_FOUND, "not in the set");
    mtb_buffer_release(b);
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live);
    CHECK_OK(mtb_residency_set_commit(set, &error));
    CHECK(mtb_live_handles(MTB_HANDLE_BUFFER) == live - 1);
    CHECK(mtb_residency_set_allocated_size(set) == BLOCK);
    CHECK_OK(mtb_residency_set_end(set, &error));
    CHECK_OK(mtb_residency_set_request(set, MTB_FOREVER, &error));
    CHECK_OK(mtb_command_queue_remove_residency_set(shared.queue, set, &error));
    CHECK_FAILS(mtb_residency_set_create(NULL, &error), MTB_INVALID_ARGUMENT, "`device` is NULL");
    CHECK_FAILS(mtb_residency_set_add_buffer(set, NULL, &error), MTB_INVALID_ARGUMENT, "`buffer` is NULL");
    CHECK_FAILS(mtb_residency_set_commit(NULL, &error), MTB_INVALID_ARGUMENT, "`set` is NULL");
    CHECK_FAILS(mtb_command_queue_add_residency_set(NULL, set, &error), MTB_INVALID_ARGUMENT, "`queue` is NULL");
    CHECK(mtb_residency_set_allocated_size(NULL) == 0 && !mtb_device_supports_residency_sets(NULL));
    mtb_residency_set_release(set);
    mtb_buffer_release(a);
}

typedef struct {
    mtb_residency_set *set;
    mtb_buffer *other;
    int calls;
} asking;

static void ask_the_set(void *bytes, size_t length, void *context) {
    (void)length;
    asking *of = context;
    of->calls++;
    CHECK_OK(mtb_residency_set_add_buffer(of->set, of->other, &error));
    CHECK_OK(mtb_residency_set_commit(of->set, &error));
    free(bytes);
}

/* The set has the last reference to the buffer, and gives it up in a commit. */
static void a_deallocator_may_ask_the_set_of_its_buffer(void) {
    size_t page = mtb_page_size();
    void *bytes = aligned_alloc(page, page);
    mtb_buffer *buffer;
    asking of = {.other = make_buffer(BLOCK)};
    MAKE(of.set, mtb_residency_set_create(shared.device, &error));
    MAKE(buffer, mtb_buffer_create_no_copy(shared.device, bytes, page, MTB_STORAGE_SHARED, ask_the_set, &of, &error));
    CHECK_OK(mtb_residency_set_add_buffer(of.set, buffer, &error));
    CHECK_OK(mtb_residency_set_commit(of.set, &error));
    CHECK_OK(mtb_residency_set_remove_buffer(of.set, buffer, &error));
    mtb_buffer_release(buffer);
    CHECK(of.calls == 0);
    CHECK_OK(mtb_residency_set_commit(of.set, &error));
    CHECK(of.calls == 1);
    CHECK(mtb_residency_set_allocated_size(of.set) == BLOCK);
    mtb_residency_set_release(of.set);
    mtb_buffer_release(of.other);
}

static void release_the_set(void *bytes, size_t length, void *set) {
    (void)length;
    mtb_residency_set_release(set);
    free(bytes);
}

/* The deallocator has the set's last reference. */
static void a_deallocator_may_release_the_set_of_its_buffer(void) {
    size_t page = mtb_page_size();
    void *bytes = aligned_alloc(page, page);
    mtb_residency_set *set;
    mtb_buffer *buffer;
    uint64_t live = mtb_live_handles(MTB_HANDLE_RESIDENCY_SET);
    MAKE(set, mtb_residency_set_create(shared.device, &error));
    MAKE(buffer,
         mtb_buffer_create_no_copy(shared.device, bytes, page, MTB_STORAGE_SHARED, release_the_set, set, &error));
    CHECK_OK(mtb_residency_set_add_buffer(set, buffer, &error));
    CHECK_OK(mtb_residency_set_remove_buffer(set, buffer, &error));
    mtb_buffer_release(buffer);
    CHECK_OK(mtb_residency_set_commit(set, &error));
    CHECK(mtb_live_handles(MTB_HANDLE_RESIDENCY_SET) == live);
}

/* Between the removal and the commit, and after both. */
static void what_was_removed_may_come_back(void) {
    mtb_residency_set *set;
    mtb_buffer *a = make_buffer(BLOCK), *b = make_buffer(BLOCK);
    MAKE(set, mtb_residency_set_create(shared.device, &error));
    for (int round = 0; round < 2; round++) {
        CHECK_OK(mtb_residency_set_add_buffer(set, a, &error));
        CHECK_OK(mtb_residency_set_add_buffer(set, b, &error));
        CHECK_OK(mtb_residency_set_remove_buffer(set, a, &error));
        CHECK_OK(mtb_residency_set_add_buffer(set, a, &error));
        CHECK_OK(mtb_residency_set_commit(set, &error));
        CHECK(mtb_residency_set_allocated_size(set) == 2 * BLOCK);
        CHECK_OK(mtb_residency_set_remove_buffer(set, a, &error));
        CHECK_OK(mtb_residency_set_commit(set, &error));
        CHECK_FAILS(mtb_residency_set_remove_buffer(set, a, &error), MTB_NOT_FOUND, "not in the set");
        CHECK(mtb_residency_set_allocated_size(set) == BLOCK);
    }
    mtb_residency_set_release(set);
    mtb_buffer_release(a);
    mtb_buffer_release(b);
}

const test memory_arena_tests[] = {
    {"memory arena: heaps are shared by buffers", heaps_are_shared_by_buffers},
    {"memory arena: limits hold", limits_hold},
    {"memory arena: limits hold for odd blocks", limits_hold_for_odd_blocks},
    {"memory arena: threads share the heap that one makes", threads_share_the_heap_that_one_makes},
    {"memory arena: a heap of what the limit leaves is shared", a_heap_of_what_the_limit_leaves_is_shared},
    {"memory arena: blocks are as large as the limit allows", blocks_are_as_large_as_the_limit_allows},
    {"memory arena: ranges in flight are not reused", ranges_in_flight_are_not_reused},
    {"memory residency: sets hold buffers", residency_sets_hold_buffers},
    {"memory residency: a deallocator may ask the set of its buffer", a_deallocator_may_ask_the_set_of_its_buffer},
    {"memory residency: a deallocator may release the set of its buffer",
     a_deallocator_may_release_the_set_of_its_buffer},
    {"memory residency: what was removed may come back", what_was_removed_may_come_back},
    {NULL, NULL},
};
