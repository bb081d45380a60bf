/* Bad input, all over metal_bridge_memory.h: a typed status, an error that says why, and nothing written. */
#include "scene.h"

/* The status, and with it an error that says so, in words. If no error is asked for, the status is the same. */
static void check_refused(mtb_status status, mtb_status again, mtb_error *error, mtb_status expected,
                          const char *what) {
    bool is_right = status == expected && again == expected && mtb_error_status(error) == expected &&
                    strlen(mtb_error_message(error)) > 10 && strncmp(mtb_error_function(error), "mtb_", 4) == 0;
    if (!is_right) fprintf(stderr, "%s: %s, %s\n", what, mtb_status_name(status), mtb_error_message(error));
    CHECK(is_right);
    mtb_error_release(error);
}

/* Ranges that no buffer of LENGTH bytes has, and rows that are not valid. */
static const struct {
    const char *what;
    size_t offset, pitch, width, height;
    mtb_status status;
} bad_rows[] = {
    {"one byte past the end", LENGTH, 0, 1, 1, MTB_OUT_OF_RANGE},
    {"across the end", LENGTH - 3, 0, 4, 1, MTB_OUT_OF_RANGE},
    {"one byte too long", 0, 0, LENGTH + 1, 1, MTB_OUT_OF_RANGE},
    {"an offset far out", SIZE_MAX, 0, 1, 1, MTB_OUT_OF_RANGE},
    {"an end that wraps round to the start", SIZE_MAX - 2, 0, 8, 1, MTB_OUT_OF_RANGE},
    {"half of all addresses, twice", SIZE_MAX / 2 + 1, 0, SIZE_MAX / 2 + 1, 1, MTB_OUT_OF_RANGE},
    {"all addresses", 0, 0, SIZE_MAX, 1, MTB_OUT_OF_RANGE},
    {"the last row across the end", 0, 8, 8, LENGTH / 8 + 1, MTB_OUT_OF_RANGE},
    {"rows far apart", 0, SIZE_MAX, 1, 2, MTB_OUT_OF_RANGE},
    {"rows whose product wraps round", 0, SIZE_MAX / 2 + 1, 1, 3, MTB_OUT_OF_RANGE},
    {"more rows than bytes", 0, 1, 1, SIZE_MAX, MTB_OUT_OF_RANGE},
    {"a pitch of none", 0, 0, 4, 2, MTB_INVALID_ARGUMENT},
    {"a pitch below the width", 0, 3, 4, 2, MTB_INVALID_ARGUMENT},
};

static void ranges_are_checked(void) {
    scene all;
    make_scene(&all);
    for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++)
        for (size_t j = 0; j < all.count; j++) {
            const area *where = &all.areas[j], *other = &all.areas[where->host ? 0 : 3];
            /* The bridge cannot tell how long host memory is: of its ranges it refuses only those that wrap around. */
            bool is_told = where->buffer || bad_rows[i].status == MTB_INVALID_ARGUMENT ||
                           bad_rows[i].width == SIZE_MAX || bad_rows[i].pitch > LENGTH;
            if (!is_told || is_far(&all, where)) continue;
            size_t width = bad_rows[i].width, height = bad_rows[i].height, pitch = bad_rows[i].pitch;
            mtb_place bad = place_of(where, where->buffer ? bad_rows[i].offset : 0, pitch);
            mtb_place good = place_of(other, 0, pitch > width ? pitch : width);
            mtb_error *error;
            mtb_status expected = bad_rows[i].status, status, again;
            status = mtb_transfer_copy(all.transfer, bad, good, width, height, MTB_HOST_COPIED, &error);
            again = mtb_transfer_copy(all.transfer, bad, good, width, height, MTB_HOST_BORROWED, NULL);
            check_refused(status, again, error, expected, bad_rows[i].what);
            status = mtb_transfer_copy(all.transfer, good, bad, width, height, MTB_HOST_COPIED, &error);
            again = mtb_transfer_copy(all.transfer, good, bad, width, height, MTB_HOST_BORROWED, NULL);
            check_refused(status, again, error, expected, bad_rows[i].what);
            uint8_t zero = 0;
            status = mtb_transfer_fill(all.transfer, bad, width, height, &zero, 1, &error);
            again = mtb_transfer_fill(all.transfer, bad, width, height, &zero, 1, NULL);
            check_refused(status, again, error, expected, bad_rows[i].what);
        }
    CHECK(is_as_modelled(&all));
    free_scene(&all);
}

static void patterns_and_kinds_are_checked(void) {
    static const size_t bad_sizes[] = {0, 3, 5, 8, SIZE_MAX};
    const uint32_t pattern = 0;
    scene all;
    make_scene(&all);
    mtb_place here = place_of(&all.areas[2], 0, 0), there = place_of(&all.areas[0], 0, 0);
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++)
        CHECK_FAILS(mtb_transfer_fill(all.transfer, here, 16, 1, &pattern, bad_sizes[i], &error), MTB_INVALID_ARGUMENT,
                    "pattern");
    CHECK_FAILS(mtb_transfer_fill(all.transfer, here, 16, 1, NULL, 4, &error), MTB_INVALID_ARGUMENT, "pattern");
    for (size_t width = 1; width < 8; width++)
        if (width % 4 > 0)
            CHECK_FAILS(mtb_transfer_fill(all.transfer, here, width, 1, &pattern, 4, &error), MTB_MISALIGNED, "width");
    for (int kind = -1; kind < 100; kind += 3)
        CHECK_FAILS(mtb_transfer_copy(all.transfer, here, there, 4, 1, (mtb_host_memory)kind, &error),
                    MTB_INVALID_ARGUMENT, "host memory");
    for (int mode = -1; mode < 100; mode += 4) {
        CHECK_FAILS(mtb_memory_allocate(all.memory, 16, (mtb_storage_mode)mode, &error), MTB_INVALID_ARGUMENT, "mode");
        CHECK_FAILS(mtb_arena_create(all.memory, (mtb_storage_mode)mode, 0, 0, &error), MTB_INVALID_ARGUMENT, "mode");
        CHECK(strcmp(mtb_transfer_kind_name((mtb_transfer_kind)(mode + 100)), "unknown") == 0);
    }
    CHECK(is_as_modelled(&all));
    free_scene(&all);
}

#define WITHOUT(call, name) CHECK_FAILS(call, MTB_INVALID_ARGUMENT, "`" name "` is NULL")

static void nothing(void *context) { (void)context; }

/* Each function of the header, with NULL for each handle. */
static void handles_are_needed(void) {
    scene all;
    make_scene(&all);
    mtb_place here = place_of(&all.areas[2], 0, 0), there = place_of(&all.areas[0], 0, 0);
    mtb_buffer *buffer = all.areas[0].buffer;
    uint8_t zero = 0;
    WITHOUT(mtb_memory_create(NULL, NULL, &error), "device");
    WITHOUT(mtb_memory_allocate(NULL, 1, MTB_STORAGE_SHARED, &error), "memory");
    WITHOUT(mtb_memory_acquire_queue(NULL, &error), "memory");
    WITHOUT(mtb_transfer_create(NULL, all.queue, &error), "memory");
    WITHOUT(mtb_transfer_create(all.memory, NULL, &error), "queue");
    WITHOUT(mtb_transfer_copy(NULL, here, there, 1, 1, MTB_HOST_COPIED, &error), "transfer");
    WITHOUT(mtb_transfer_copy(NULL, here, there, 0, 0, MTB_HOST_COPIED, &error), "transfer");
    WITHOUT(mtb_transfer_fill(NULL, here, 1, 1, &zero, 1, &error), "transfer");
    WITHOUT(mtb_transfer_copy(all.transfer, (mtb_place){0}, there, 1, 1, MTB_HOST_COPIED, &error), "source");
    WITHOUT(mtb_transfer_copy(all.transfer, here, (mtb_place){0}, 1, 1, MTB_HOST_COPIED, &error), "destination");
    WITHOUT(mtb_transfer_fill(all.transfer, (mtb_place){0}, 1, 1, &zero, 1, &error), "destination");
    WITHOUT(mtb_transfer_commit(NULL, NULL, NULL, NULL, &error), "transfer");
    WITHOUT(mtb_transfer_commit_timeout(NULL, 0, NULL, NULL, NULL, &error), "transfer");
    WITHOUT(mtb_transfer_run(NULL, &error), "transfer");
    WITHOUT(mtb_command_queue_call_host_function(NULL, nothing, NULL, NULL, NULL, &error), "queue");
    WITHOUT(mtb_command_queue_call_host_function(all.queue, NULL, NULL, NULL, NULL, &error), "function");
    WITHOUT(mtb_arena_create(NULL, MTB_STORAGE_SHARED, 0, 0, &error), "memory");
    WITHOUT(mtb_arena_allocate(NULL, 1, &error), "arena");
    WITHOUT(mtb_residency_set_create(NULL, &error), "device");
    WITHOUT(mtb_residency_set_add_buffer(NULL, buffer, &error), "set");
    WITHOUT(mtb_residency_set_remove_buffer(NULL, buffer, &error), "set");
    WITHOUT(mtb_residency_set_commit(NULL, &error), "set");
    WITHOUT(mtb_residency_set_request(NULL, 0, &error), "set");
    WITHOUT(mtb_residency_set_end(NULL, &error), "set");
    if (mtb_device_supports_residency_sets(shared.device)) {
        mtb_residency_set *set;
        MAKE(set, mtb_residency_set_create(shared.device, &error));
        WITHOUT(mtb_residency_set_add_buffer(set, NULL, &error), "buffer");
        WITHOUT(mtb_residency_set_remove_buffer(set, NULL, &error), "buffer");
        WITHOUT(mtb_command_queue_add_residency_set(NULL, set, &error), "queue");
        WITHOUT(mtb_command_queue_remove_residency_set(NULL, set, &error), "queue");
        mtb_residency_set_release(set);
    }
    WITHOUT(mtb_command_queue_add_residency_set(all.queue, NULL, &error), "set");
    WITHOUT(mtb_command_queue_remove_residency_set(all.queue, NULL, &error), "set");

    /* Calls that cannot fail do nothing for NULL, and give zeros. */
    mtb_memory_statistics statistics = {.held = 1};
    mtb_pool_statistics pool = {.hits = 1};
    mtb_memory_get_statistics(NULL, &statistics);
    mtb_arena_get_statistics(NULL, &pool);
    CHECK(statistics.held == 0 && statistics.budget == 0 && pool.hits == 0);
    CHECK(mtb_memory_trim(NULL, 0) == 0 && mtb_arena_trim(NULL) == 0 && mtb_residency_set_allocated_size(NULL) == 0);
    CHECK(!mtb_device_supports_residency_sets(NULL) && mtb_device_peer_group_id(NULL) == 0);
    CHECK(mtb_memory_get_pair_statistics(NULL, NULL, 0) == 0);
    mtb_memory_reset_statistics(NULL);
    mtb_string_free(mtb_memory_copy_report(NULL));
    CHECK(!mtb_memory_retain(NULL) && !mtb_arena_retain(NULL) && !mtb_residency_set_retain(NULL));
    mtb_memory_release(NULL);
    mtb_transfer_release(NULL);
    mtb_arena_release(NULL);
    mtb_residency_set_release(NULL);
    CHECK(is_as_modelled(&all));
    free_scene(&all);
}

static void devices_must_fit(void) {
    scene all;
    make_scene(&all);
    if (all.far) {
        mtb_buffer *foreign = all.areas[5].buffer;
        mtb_place far = place_of(&all.areas[5], 0, 0), hidden = place_of(&all.areas[6], 0, 0);
        mtb_place host = place_of(&all.areas[3], 0, 0);
        uint8_t zero = 0;
        CHECK_FAILS(mtb_transfer_create(all.memory, all.far_queue, &error), MTB_WRONG_DEVICE, "queue");
        for (int kind = 0; kind < 2; kind++) {
            mtb_host_memory use = (mtb_host_memory)kind;
            CHECK_FAILS(mtb_transfer_copy(all.transfer, far, host, 4, 1, use, &error), MTB_WRONG_DEVICE, "source");
            CHECK_FAILS(mtb_transfer_copy(all.transfer, host, far, 4, 1, use, &error), MTB_WRONG_DEVICE, "destination");
            CHECK_FAILS(mtb_transfer_copy(all.transfer, far, hidden, 4, 1, use, &error), MTB_WRONG_DEVICE, "device");
        }
        CHECK_FAILS(mtb_transfer_fill(all.transfer, hidden, 4, 1, &zero, 1, &error), MTB_WRONG_DEVICE, "destination");
        if (mtb_device_supports_residency_sets(shared.device)) {
            mtb_residency_set *set;
            MAKE(set, mtb_residency_set_create(shared.device, &error));
            CHECK_FAILS(mtb_residency_set_add_buffer(set, foreign, &error), MTB_WRONG_DEVICE, "buffer");
            CHECK_FAILS(mtb_command_queue_add_residency_set(all.far_queue, set, &error), MTB_WRONG_DEVICE, "set");
            mtb_residency_set_release(set);
        }
    }
    CHECK(is_as_modelled(&all));
    free_scene(&all);
}

/* Objects outlive the handles of the objects that they were made from. */
static void parents_may_go_first(void) {
    mtb_memory *memory = make_memory();
    mtb_command_queue *queue;
    mtb_arena *arena;
    MAKE(queue, mtb_memory_acquire_queue(memory, &error));
    MAKE(arena, mtb_arena_create(memory, MTB_STORAGE_PRIVATE, 0, 0, &error));
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_memory_release(memory);
    mtb_command_queue_release(queue);
    mtb_buffer *scratch, *other;
    MAKE(scratch, mtb_arena_allocate(arena, LENGTH, &error));
    MAKE(other, mtb_arena_allocate(arena, LENGTH, &error));
    mtb_arena_release(arena);
    uint8_t value = 7, found[LENGTH] = {0};
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(scratch, 0), LENGTH, 1, &value, 1, &error));
    CHECK_OK(
        mtb_transfer_copy(transfer, in_buffer(scratch, 0), in_buffer(other, 0), LENGTH, 1, MTB_HOST_COPIED, &error));
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(other, 0), in_host(found), LENGTH, 1, MTB_HOST_COPIED, &error));
    mtb_buffer_release(scratch);
    mtb_buffer_release(other);
    mtb_command_buffer *copied = commit(transfer);
    mtb_transfer_release(transfer);
    finish(copied);
    CHECK(found[0] == 7 && found[LENGTH - 1] == 7);
    /* A transfer that is recorded and never committed. */
    memory = make_memory();
    transfer = make_transfer(memory, shared.queue);
    MAKE(scratch, mtb_memory_allocate(memory, LENGTH, MTB_STORAGE_PRIVATE, &error));
    CHECK_OK(mtb_transfer_copy(transfer, in_host(found), in_buffer(scratch, 0), LENGTH, 1, MTB_HOST_COPIED, &error));
    mtb_buffer_release(scratch);
    mtb_memory_release(memory);
    mtb_transfer_release(transfer);
}

const test memory_refusal_tests[] = {
    {"memory refusals: ranges are checked", ranges_are_checked},
    {"memory refusals: patterns and kinds are checked", patterns_and_kinds_are_checked},
    {"memory refusals: handles are needed", handles_are_needed},
    {"memory refusals: devices must fit", devices_must_fit},
    {"memory refusals: parents may go first", parents_may_go_first},
    {NULL, NULL},
};
