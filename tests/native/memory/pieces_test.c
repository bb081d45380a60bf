/* Batches of small pieces of host memory. They are wrapped together if nothing else lies in their pages, and staged
 * otherwise. */
#include "support.h"

#include <stdlib.h>

enum {
    COUNT = 300
};

/* Pieces of one length, in host memory and in a private buffer. A step is the distance from one to the next. */
typedef struct {
    size_t length, host_step, buffer_step;
    /* The offset of the first piece in the buffer. */
    size_t offset;
} layout;

static uint64_t staged_bytes(const mtb_memory *memory) {
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    return statistics.staging.high_water_bytes;
}

static void add_pieces(mtb_transfer *transfer, uint8_t *host, mtb_buffer *buffer, const layout *pieces,
                       bool is_upload) {
    for (size_t i = 0; i < COUNT; i++) {
        mtb_place outside = in_host(host + i * pieces->host_step);
        mtb_place inside = in_buffer(buffer, pieces->offset + i * pieces->buffer_step);
        CHECK_OK(mtb_transfer_copy(transfer, is_upload ? outside : inside, is_upload ? inside : outside, pieces->length,
                                   1, MTB_HOST_BORROWED, &error));
    }
}

/* Copies the pieces to the buffer in one batch and back in another: they arrive, and nothing between them changes.
 * Returns the most bytes that were staged at once. */
static uint64_t there_and_back(layout pieces) {
    mtb_memory *memory = make_memory();
    size_t page = mtb_page_size();
    size_t host_length = (COUNT * pieces.host_step + pieces.length + page - 1) / page * page;
    mtb_buffer *buffer =
        make_buffer_of(pieces.offset + COUNT * pieces.buffer_step + pieces.length, MTB_STORAGE_PRIVATE);
    uint8_t *host = aligned_alloc(page, host_length), *back = aligned_alloc(page, host_length);
    uint8_t *expected = aligned_alloc(page, host_length);
    random_source source = {pieces.length};
    for (size_t i = 0; i < host_length; i++) host[i] = (uint8_t)next_random(&source);
    memset(back, 0xee, host_length);
    memset(expected, 0xee, host_length);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(expected + i * pieces.host_step, host + i * pieces.host_step, pieces.length);

    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    add_pieces(transfer, host, buffer, &pieces, true);
    CHECK_OK(mtb_transfer_run(transfer, &error));
    add_pieces(transfer, back, buffer, &pieces, false);
    CHECK_OK(mtb_transfer_run(transfer, &error));
    CHECK(memcmp(back, expected, host_length) == 0);

    uint64_t staged = staged_bytes(memory);
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
    free(expected);
    free(back);
    free(host);
    return staged;
}

static void dense_pieces_are_not_staged(void) {
    CHECK(there_and_back((layout){.length = 4096, .host_step = 4096, .buffer_step = 8192}) == 0);
    CHECK(there_and_back((layout){.length = 2000, .host_step = 2900, .buffer_step = 2004, .offset = 20}) == 0);
}

static void sparse_pieces_are_staged(void) {
    size_t page = mtb_page_size(), bytes = (size_t)COUNT * 2000;
    /* A page between two pieces may belong to somebody else. */
    CHECK(there_and_back((layout){.length = 2000, .host_step = 2 * page, .buffer_step = 2000}) >= bytes);
    /* Blits copy whole words, and these pieces are not at words in the buffer. */
    CHECK(there_and_back((layout){.length = 2000, .host_step = 2000, .buffer_step = 2004, .offset = 1}) >= bytes);
}

static void few_pieces_are_staged(void) {
    CHECK(there_and_back((layout){.length = 400, .host_step = 400, .buffer_step = 404}) >= (uint64_t)COUNT * 400);
}

static void mixed_pieces_arrive(void) {
    /* Every other piece is equally far from the start of a word on both sides. */
    uint64_t staged = there_and_back((layout){.length = 4001, .host_step = 4002, .buffer_step = 4004});
    CHECK(staged > 0 && staged < (uint64_t)COUNT * 4001);
}

/* Many copies may read the same bytes. */
static void one_source_many_times(void) {
    mtb_memory *memory = make_memory();
    uint8_t host[4096], back[4096] = {0};
    memset(host, 7, sizeof host);
    mtb_buffer *buffer = make_buffer_of(COUNT * 2 * sizeof host, MTB_STORAGE_PRIVATE);
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    add_pieces(transfer, host, buffer, &(layout){.length = sizeof host, .buffer_step = 2 * sizeof host}, true);
    CHECK_OK(mtb_transfer_run(transfer, &error));
    CHECK(staged_bytes(memory) == 0);
    for (size_t i = 0; i < COUNT; i += COUNT - 1) {
        copy(memory, shared.queue, in_buffer(buffer, i * 2 * sizeof host), in_host(back), sizeof back);
        CHECK(memcmp(back, host, sizeof host) == 0);
    }
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
}

/* The last of the copies that write to the same bytes wins, by whatever way the others go. */
static void pieces_keep_their_order(void) {
    enum {
        LENGTH = COUNT * 2000
    };
    mtb_memory *memory = make_memory();
    uint8_t *host = malloc(LENGTH), *values = malloc(LENGTH);
    mtb_buffer *buffer = make_buffer_of(2 * LENGTH, MTB_STORAGE_PRIVATE);
    memset(values, 1, LENGTH);
    copy(memory, shared.queue, in_host(values), in_buffer(buffer, 0), LENGTH);
    memset(values, 2, LENGTH);
    copy(memory, shared.queue, in_host(values), in_buffer(buffer, LENGTH), LENGTH);
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    for (size_t at = 0; at < LENGTH; at += 2000)
        for (size_t part = 0; part < 2;
             part++) /* First out of step, and so by way of staging, for every other piece. */
            CHECK_OK(mtb_transfer_copy(transfer, in_buffer(buffer, part * LENGTH + at + (at / 2000 + part) % 2),
                                       in_host(host + at), 1996, 1, MTB_HOST_BORROWED, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    size_t right = 0;
    for (size_t at = 0; at < LENGTH; at++) right += at % 2000 >= 1996 || host[at] == 2;
    CHECK(right == LENGTH);
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
    free(values);
    free(host);
}

const test memory_pieces_tests[] = {
    {"memory pieces: dense ones are not staged", dense_pieces_are_not_staged},
    {"memory pieces: sparse ones are staged", sparse_pieces_are_staged},
    {"memory pieces: few are staged", few_pieces_are_staged},
    {"memory pieces: mixed ones arrive", mixed_pieces_arrive},
    {"memory pieces: one source many times", one_source_many_times},
    {"memory pieces: the last one wins", pieces_keep_their_order},
    {NULL, NULL},
};
