/* Copies and fills between places of every kind, compared with a model in memory. */
#include "support.h"
#include "../../../native/software/tests/comma_locale.h"

#include <stdlib.h>

enum {
    PLACES = 8,
    LENGTH = 1500,
    LARGE = 700000
};

/* Two places of each kind: shared, managed, private and host. */
typedef struct {
    mtb_buffer *buffer;
    uint8_t *host;
    uint8_t *model;
} area;

static mtb_place place_of(const area *where, size_t offset) {
    return where->buffer ? in_buffer(where->buffer, offset) : in_host(where->host + offset);
}

static void make_areas(mtb_memory *memory, area *areas, size_t length, random_source *source) {
    for (size_t i = 0; i < PLACES; i++) {
        areas[i] = (area){.model = malloc(length)};
        for (size_t j = 0; j < length; j++) areas[i].model[j] = (uint8_t)next_random(source);
        if (i % 4 < 3) {
            areas[i].buffer = make_buffer_of(length, (mtb_storage_mode)(i % 4));
            copy(memory, shared.queue, in_host(areas[i].model), in_buffer(areas[i].buffer, 0), length);
        } else {
            areas[i].host = malloc(length);
            memcpy(areas[i].host, areas[i].model, length);
        }
    }
}

static bool is_as_modelled(mtb_memory *memory, const area *where, size_t length) {
    uint8_t *found = malloc(length);
    memset(found, 0xee, length);
    if (where->buffer)
        copy(memory, shared.queue, in_buffer(where->buffer, 0), in_host(found), length);
    else
        memcpy(found, where->host, length);
    bool is_equal = memcmp(found, where->model, length) == 0;
    /* The CPU's copy of a managed buffer follows each transfer. */
    if (where->buffer && mtb_buffer_storage_mode(where->buffer) == MTB_STORAGE_MANAGED)
        is_equal = is_equal && memcmp(mtb_buffer_contents(where->buffer), where->model, length) == 0;
    free(found);
    return is_equal;
}

static void check_and_free(mtb_memory *memory, area *areas, size_t length) {
    for (size_t i = 0; i < PLACES; i++) {
        CHECK(is_as_modelled(memory, &areas[i], length));
        mtb_buffer_release(areas[i].buffer);
        free(areas[i].host);
        free(areas[i].model);
    }
}

/* Rows that fit into `length` bytes. */
typedef struct {
    size_t offset, pitch;
} rows;

static rows random_rows(random_source *source, size_t length, size_t width, size_t height) {
    size_t pitch = height > 1 ? width + below(source, (length - width * height) / (height - 1) + 1) : width;
    size_t extent = pitch * (height - 1) + width;
    size_t offset = below(source, length - extent + 1);
    /* Half of the offsets begin a word. */
    if (below(source, 2) && offset >= 4) offset &= ~(size_t)3;
    return (rows){offset, pitch};
}

static size_t random_width(random_source *source, size_t most) {
    switch (below(source, 4)) {
    case 0: return 1 + below(source, 8);
    case 1: return most;
    case 2: return 4 * (1 + below(source, most / 4));
    default: return 1 + below(source, most);
    }
}

static void add_fill(mtb_transfer *transfer, area *to, size_t length, random_source *source) {
    uint8_t pattern[4];
    for (size_t i = 0; i < 4; i++) pattern[i] = (uint8_t)next_random(source);
    size_t pattern_size = (size_t)1 << below(source, 3);
    size_t height = 1 + below(source, 2) * below(source, 24);
    size_t width = random_width(source, length / height) / pattern_size * pattern_size;
    if (width == 0) return;
    rows target = random_rows(source, length, width, height);
    mtb_place place = place_of(to, target.offset);
    place.pitch = target.pitch;
    CHECK_OK(mtb_transfer_fill(transfer, place, width, height, pattern, pattern_size, &error));
    for (size_t row = 0; row < height; row++)
        for (size_t i = 0; i < width; i++)
            to->model[target.offset + row * target.pitch + i] = pattern[i % pattern_size];
}

static void add_copy(mtb_transfer *transfer, const area *from, area *to, size_t length, mtb_host_memory host,
                     random_source *source) {
    size_t height = 1 + below(source, 2) * below(source, 24);
    size_t width = random_width(source, length / height);
    rows origin = random_rows(source, length, width, height), target = random_rows(source, length, width, height);
    mtb_place source_place = place_of(from, origin.offset), place = place_of(to, target.offset);
    source_place.pitch = origin.pitch;
    place.pitch = target.pitch;
    CHECK_OK(mtb_transfer_copy(transfer, source_place, place, width, height, host, &error));
    for (size_t row = 0; row < height; row++)
        memcpy(to->model + target.offset + row * target.pitch, from->model + origin.offset + row * origin.pitch, width);
}

/* A batch does not read host memory that it writes: a caller must leave memory that a batch reads unchanged. */
static void random_batch(mtb_transfer *transfer, area *areas, size_t length, random_source *source) {
    bool is_read[PLACES] = {false}, is_written[PLACES] = {false};
    for (size_t count = 1 + below(source, 6); count > 0; count--) {
        size_t from = below(source, PLACES), to = below(source, PLACES);
        if (from == to || (areas[from].host && is_written[from]) || (areas[to].host && is_read[to])) continue;
        is_written[to] = true;
        if (below(source, 5) == 0) {
            add_fill(transfer, &areas[to], length, source);
            continue;
        }
        is_read[from] = true;
        add_copy(transfer, &areas[from], &areas[to], length, (mtb_host_memory)below(source, 2), source);
    }
}

static void against_the_model(size_t length, int batches, uint64_t seed) {
    random_source source = {seed};
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    area areas[PLACES];
    make_areas(memory, areas, length, &source);
    for (int i = 0; i < batches; i++) {
        random_batch(transfer, areas, length, &source);
        if (below(&source, 2))
            CHECK_OK(mtb_transfer_run(transfer, &error));
        else
            finish(commit(transfer));
    }
    mtb_transfer_release(transfer);
    check_and_free(memory, areas, length);
    mtb_memory_release(memory);
}

static void small_places(void) {
    for (uint64_t seed = 1; seed <= 20; seed++) against_the_model(LENGTH, 60, seed);
}

/* Large enough for host memory to be wrapped. */
static void large_places(void) { against_the_model(LARGE, 60, 77); }

static void every_offset_and_length(void) {
    enum {
        SIDE = 12,
        SIZE = 64
    };
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *hidden = make_buffer_of(SIZE, MTB_STORAGE_PRIVATE);
    uint8_t in[SIZE], out[SIZE], expected[SIZE];
    for (size_t i = 0; i < SIZE; i++) in[i] = (uint8_t)(i + 1);
    for (size_t from = 0; from < 5; from++)
        for (size_t to = 0; to < 5; to++)
            for (size_t length = 0; length < SIDE; length++) {
                uint8_t zero = 0;
                CHECK_OK(mtb_transfer_fill(transfer, in_buffer(hidden, 0), SIZE, 1, &zero, 1, &error));
                CHECK_OK(mtb_transfer_copy(transfer, in_host(in + from), in_buffer(hidden, to), length, 1,
                                           MTB_HOST_COPIED, &error));
                CHECK_OK(
                    mtb_transfer_copy(transfer, in_buffer(hidden, 0), in_host(out), SIZE, 1, MTB_HOST_COPIED, &error));
                CHECK_OK(mtb_transfer_run(transfer, &error));
                memset(expected, 0, SIZE);
                memcpy(expected + to, in + from, length);
                CHECK(memcmp(out, expected, SIZE) == 0);
            }
    mtb_buffer_release(hidden);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

/* A blit fills whole words of private memory with a byte; other patterns take a kernel, which is compiled for the
 * first. */
static void private_memory_is_filled_by_blits(void) {
    enum {
        SIZE = 4096
    };
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *hidden = make_buffer_of(SIZE, MTB_STORAGE_PRIVATE);
    const uint64_t pipelines = mtb_live_handles(MTB_HANDLE_PIPELINE);
    const uint8_t zero = 0;
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(hidden, 0), SIZE, 1, &zero, 1, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    CHECK(mtb_live_handles(MTB_HANDLE_PIPELINE) == pipelines);
    const uint32_t pattern = 0x01020304;
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(hidden, 0), SIZE, 1, &pattern, 4, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    CHECK(mtb_live_handles(MTB_HANDLE_PIPELINE) == pipelines + 1);
    mtb_buffer_release(hidden);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

static void batches_are_coalesced(void) {
    enum {
        PIECES = 100,
        PIECE = 64
    };
    uint8_t in[PIECES * PIECE], out[PIECES * PIECE];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 7);
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *hidden = make_buffer_of(sizeof in, MTB_STORAGE_PRIVATE);
    for (size_t i = 0; i < PIECES; i++)
        CHECK_OK(mtb_transfer_copy(transfer, in_host(in + i * PIECE), in_buffer(hidden, i * PIECE), PIECE, 1,
                                   MTB_HOST_COPIED, &error));
    memset(in, 0, sizeof in);
    finish(commit(transfer));
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(statistics.command_buffers == 1);
    CHECK(statistics.transfers[MTB_TRANSFER_HOST_TO_PRIVATE].count == PIECES);
    CHECK(statistics.transfers[MTB_TRANSFER_HOST_TO_PRIVATE].bytes == sizeof in);
    copy(memory, shared.queue, in_buffer(hidden, 0), in_host(out), sizeof out);
    bool is_equal = true;
    for (size_t i = 0; i < sizeof out; i++) is_equal = is_equal && out[i] == (uint8_t)(i * 7);
    CHECK(is_equal);
    mtb_buffer_release(hidden);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

/* A copy that begins where the last one ended is not joined with it if it reads what that has written. */
static void copies_that_feed_each_other_stay_apart(void) {
    enum {
        PIECES = 8,
        PIECE = 1000
    };
    uint8_t in[PIECE], out[PIECES * PIECE];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 3);
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *hidden = make_buffer_of(sizeof out, MTB_STORAGE_PRIVATE);
    copy(memory, shared.queue, in_host(in), in_buffer(hidden, 0), PIECE);
    for (size_t i = 1; i < PIECES; i++)
        CHECK_OK(mtb_transfer_copy(transfer, in_buffer(hidden, (i - 1) * PIECE), in_buffer(hidden, i * PIECE), PIECE, 1,
                                   MTB_HOST_COPIED, &error));
    finish(commit(transfer));
    copy(memory, shared.queue, in_buffer(hidden, 0), in_host(out), sizeof out);
    bool is_equal = true;
    for (size_t i = 0; i < sizeof out; i++) is_equal = is_equal && out[i] == in[i % PIECE];
    CHECK(is_equal);
    mtb_buffer_release(hidden);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

static void arguments_are_checked(void) {
    char bytes[64] = {0};
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *a = make_buffer(64), *b = make_buffer(64);
    mtb_place nowhere = {0}, rows_of_a = {.buffer = a, .pitch = 8}, rows_of_b = {.buffer = b, .pitch = 8};
    CHECK_FAILS(mtb_memory_create(NULL, NULL, &error), MTB_INVALID_ARGUMENT, "`device` is NULL");
    CHECK_FAILS(mtb_transfer_create(NULL, shared.queue, &error), MTB_INVALID_ARGUMENT, "`memory` is NULL");
    CHECK_FAILS(mtb_transfer_create(memory, NULL, &error), MTB_INVALID_ARGUMENT, "`queue` is NULL");
#define COPY(source, destination, width, height) \
    mtb_transfer_copy(transfer, source, destination, width, height, MTB_HOST_BORROWED, &error)
    CHECK_FAILS(mtb_transfer_copy(NULL, in_host(bytes), in_buffer(a, 0), 4, 1, MTB_HOST_COPIED, &error),
                MTB_INVALID_ARGUMENT, "`transfer` is NULL");
    CHECK_FAILS(mtb_transfer_copy(transfer, in_host(bytes), in_buffer(a, 0), 4, 1, (mtb_host_memory)7, &error),
                MTB_INVALID_ARGUMENT, "kind of host memory 7");
    CHECK_FAILS(COPY(nowhere, in_buffer(a, 0), 4, 1), MTB_INVALID_ARGUMENT, "`source` is NULL");
    CHECK_FAILS(COPY(in_buffer(a, 0), nowhere, 4, 1), MTB_INVALID_ARGUMENT, "`destination` is NULL");
    CHECK_FAILS(COPY(in_host(bytes), in_buffer(a, 61), 4, 1), MTB_OUT_OF_RANGE, "destination");
    CHECK_FAILS(COPY(in_buffer(a, SIZE_MAX), in_host(bytes), 4, 1), MTB_OUT_OF_RANGE, "source");
    CHECK_FAILS(COPY(in_buffer(a, 0), in_host(bytes), SIZE_MAX, 1), MTB_OUT_OF_RANGE, "source");
    CHECK_FAILS(COPY(rows_of_a, rows_of_b, 16, 2), MTB_INVALID_ARGUMENT, "pitch is 8");
    CHECK_FAILS(COPY(rows_of_a, rows_of_b, 4, 9), MTB_OUT_OF_RANGE, "source");
    CHECK_FAILS(COPY(rows_of_a, rows_of_b, 4, SIZE_MAX), MTB_OUT_OF_RANGE, "rows");
    CHECK_FAILS(COPY(in_buffer(a, 0), in_buffer(a, 3), 4, 1), MTB_INVALID_ARGUMENT, "overlap");
    CHECK_FAILS(COPY(in_host(bytes + 3), in_host(bytes), 4, 1), MTB_INVALID_ARGUMENT, "overlap");
    CHECK_FAILS(COPY(in_host(mtb_buffer_contents(a)), in_buffer(a, 3), 4, 1), MTB_INVALID_ARGUMENT, "overlap");
    mtb_place right = {.buffer = a, .offset = 3, .pitch = 8};
    CHECK_FAILS(COPY(rows_of_a, right, 4, 8), MTB_INVALID_ARGUMENT, "overlap");
    CHECK_FAILS(mtb_transfer_fill(transfer, in_buffer(a, 0), 4, 1, NULL, 1, &error), MTB_INVALID_ARGUMENT, "pattern");
    CHECK_FAILS(mtb_transfer_fill(transfer, in_buffer(a, 0), 4, 1, bytes, 3, &error), MTB_INVALID_ARGUMENT, "not 3");
    CHECK_FAILS(mtb_transfer_fill(transfer, in_buffer(a, 0), 5, 1, bytes, 2, &error), MTB_MISALIGNED, "width");
    CHECK_FAILS(mtb_transfer_fill(transfer, in_buffer(a, 61), 4, 1, bytes, 1, &error), MTB_OUT_OF_RANGE, "destination");
    CHECK_FAILS(mtb_transfer_commit(NULL, NULL, NULL, NULL, &error), MTB_INVALID_ARGUMENT, "`transfer` is NULL");
    CHECK_FAILS(mtb_transfer_run(NULL, &error), MTB_INVALID_ARGUMENT, "`transfer` is NULL");
    CHECK_FAILS(mtb_command_queue_call_host_function(NULL, NULL, NULL, NULL, NULL, &error), MTB_INVALID_ARGUMENT,
                "`queue` is NULL");
    CHECK_FAILS(mtb_command_queue_call_host_function(shared.queue, NULL, NULL, NULL, NULL, &error),
                MTB_INVALID_ARGUMENT, "`function` is NULL");
    /* After all of that nothing is recorded, and what is right works: columns that are interleaved do not overlap. */
    right.offset = 4;
    memset(mtb_buffer_contents(a), 'x', 64);
    memcpy(mtb_buffer_contents(a), "ab", 2);
    CHECK_OK(COPY(rows_of_a, right, 4, 8));
    CHECK_OK(COPY(nowhere, nowhere, 0, 1));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    CHECK(memcmp(mtb_buffer_contents(a), "abxxabxx", 8) == 0);
    finish(commit(transfer));
    mtb_buffer_release(a);
    mtb_buffer_release(b);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

static void statistics_are_kept(void) {
    static char bytes[4096];
    mtb_memory *memory = make_memory();
    mtb_buffer *hidden = make_buffer_of(sizeof bytes, MTB_STORAGE_PRIVATE);
    for (int i = 0; i < 10; i++) {
        copy(memory, shared.queue, in_host(bytes), in_buffer(hidden, 0), sizeof bytes);
        copy(memory, shared.queue, in_buffer(hidden, 0), in_host(bytes), sizeof bytes);
    }
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    const mtb_transfer_statistics *up = &statistics.transfers[MTB_TRANSFER_HOST_TO_PRIVATE];
    CHECK(up->count == 10 && up->bytes == 10 * sizeof bytes && up->nanoseconds > 0);
    CHECK(statistics.transfers[MTB_TRANSFER_PRIVATE_TO_HOST].count == 10 && statistics.command_buffers == 20);
    CHECK(statistics.staging.misses == 1 && statistics.staging.hits == 19 && statistics.staging.bytes_in_use == 0);
    CHECK(statistics.staging.bytes_kept == sizeof bytes && statistics.staging.high_water_bytes == sizeof bytes);
    set_comma_locale();
    char *report = mtb_memory_copy_report(memory);
    setlocale(LC_ALL, "C");
    CHECK(strchr(report, ',') == NULL);
    CHECK(strstr(report, "host to private") && strstr(report, "staging") && strstr(report, "buffer"));
    mtb_string_free(report);
    CHECK(mtb_memory_trim(memory, MTB_FOREVER) == 0);
    CHECK(mtb_memory_trim(memory, 0) == sizeof bytes);
    mtb_memory_reset_statistics(memory);
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(up->count == 0 && statistics.staging.hits == 0 && statistics.staging.high_water_bytes == 0);
    CHECK(strcmp(mtb_transfer_kind_name((mtb_transfer_kind)99), "unknown") == 0);
    mtb_buffer_release(hidden);
    mtb_memory_release(memory);
}

/* Copies that touch become one copy. The test sees it by the staging, which one large copy does not need. */
static void copies_that_touch_are_one(void) {
    enum {
        COPIES = 64,
        PART = 16 << 10,
        SIZE = COPIES * PART
    };
    unsigned char *in = malloc(SIZE), *out = malloc(SIZE);
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = make_buffer_of(SIZE, MTB_STORAGE_PRIVATE);
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    for (size_t i = 0; i < SIZE; i++) in[i] = (unsigned char)(i * 13 >> 4);
    for (int way = 0; way < 2; way++)
        for (size_t i = 0; i < COPIES; i++) {
            mtb_place host = in_host((way ? out : in) + i * PART), there = in_buffer(buffer, i * PART);
            CHECK_OK(mtb_transfer_copy(transfer, way ? there : host, way ? host : there, PART, 1, MTB_HOST_BORROWED,
                                       &error));
        }
    finish(commit(transfer));
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(memcmp(in, out, SIZE) == 0 && statistics.staging.misses == 0);
    CHECK(statistics.transfers[MTB_TRANSFER_HOST_TO_PRIVATE].count == COPIES);
    free(in);
    free(out);
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
}

const test memory_transfer_tests[] = {
    {"memory transfer: copies that touch are one", copies_that_touch_are_one},
    {"memory: small places against a model", small_places},
    {"memory: large places against a model", large_places},
    {"memory: every offset and length", every_offset_and_length},
    {"memory: private memory is filled by blits", private_memory_is_filled_by_blits},
    {"memory: batches are coalesced", batches_are_coalesced},
    {"memory: copies that feed each other stay apart", copies_that_feed_each_other_stay_apart},
    {"memory: arguments are checked", arguments_are_checked},
    {"memory: statistics are kept", statistics_are_kept},
    {NULL, NULL},
};
