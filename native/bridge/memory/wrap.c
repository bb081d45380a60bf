/* Host memory as buffers of the pages that it is in, so that the GPU reads and writes it itself. */
#include "memory/transfer.h"

#include <stdlib.h>

/* Below this size a second copy, which stays in the caches, is taken to cost less than a wrapped buffer: measured on
 * the software Metal (docs/performance.md), with a reserve for systems that wire the pages down. */
static const size_t smallest_wrap = 256 << 10;
/* Bytes that blits move as one. */
enum {
    WORD = 4
};

/* A buffer of the pages from `begin` to `end`, and the offset of `begin` in it. NULL if Metal does not take these
 * pages.
 */
static mtb_buffer *wrap_pages(mtbi_record *record, uintptr_t begin, uintptr_t end, size_t *offset) {
    uintptr_t page = mtb_page_size(), first = begin / page * page;
    if (end > UINTPTR_MAX - page) return NULL;
    size_t length = (end - first + page - 1) / page * page;
    mtb_buffer *buffer =
        mtb_buffer_create_no_copy(record->memory->device, (void *)first, length, MTB_STORAGE_SHARED, NULL, NULL, NULL);
    if (!buffer || mtbi_references_adopt(&record->buffers, &buffer->handle, NULL, __func__)) return NULL;
    *offset = begin - first;
    return buffer;
}

size_t mtbi_extent(const mtb_place *place, size_t width, size_t height) {
    return height > 1 ? place->pitch * (height - 1) + width : width;
}

bool mtbi_record_wrap(mtbi_record *record, mtb_place *place, size_t width, size_t height) {
    uintptr_t begin = (uintptr_t)place->bytes;
    if (width * height < smallest_wrap) return false;
    mtb_buffer *buffer = wrap_pages(record, begin, begin + mtbi_extent(place, width, height), &place->offset);
    if (!buffer) return false;
    place->buffer = buffer;
    return true;
}

static mtb_place *host_of(mtbi_operation *operation, bool is_source) {
    return is_source ? &operation->source : &operation->destination;
}

/* Too small to be wrapped by itself, and as far from a word's start as the other side is, as blits need it. */
static bool is_piece(mtbi_operation *operation, bool is_source) {
    const mtb_place *host = host_of(operation, is_source), *other = host_of(operation, !is_source);
    return operation->action == MTBI_COPY && !host->buffer && other->buffer && operation->height == 1 &&
           operation->width < smallest_wrap && (uintptr_t)host->bytes % WORD == other->offset % WORD;
}

/* The pieces' bytes, and the addresses that they lie between. */
static size_t measure(mtbi_record *record, bool is_source, uintptr_t *begin, uintptr_t *end) {
    size_t bytes = 0;
    *begin = UINTPTR_MAX;
    *end = 0;
    for (size_t i = 0; i < record->operations.count; i++) {
        mtbi_operation *operation = &record->operations.list[i];
        if (!is_piece(operation, is_source)) continue;
        uintptr_t first = (uintptr_t)host_of(operation, is_source)->bytes, last = first + operation->width;
        *begin = first < *begin ? first : *begin;
        *end = last > *end ? last : *end;
        bytes += operation->width;
    }
    return bytes;
}

/* Whether each page from `begin` to `end` has a piece's bytes: others are not the transfer's to wrap. */
static bool fill_pages(mtbi_record *record, bool is_source, uintptr_t begin, uintptr_t end) {
    uintptr_t page = mtb_page_size();
    size_t count = (end - 1) / page - begin / page + 1, left = count;
    bool *is_filled = calloc(count, sizeof *is_filled);
    for (size_t i = 0; is_filled && i < record->operations.count; i++) {
        mtbi_operation *operation = &record->operations.list[i];
        if (!is_piece(operation, is_source)) continue;
        uintptr_t first = (uintptr_t)host_of(operation, is_source)->bytes;
        for (uintptr_t at = first / page; at <= (first + operation->width - 1) / page; at++) {
            left -= !is_filled[at - begin / page];
            is_filled[at - begin / page] = true;
        }
    }
    bool all = is_filled && left == 0;
    free(is_filled);
    return all;
}

void mtbi_record_wrap_pieces(mtbi_record *record, bool is_source, mtbi_pieces *pieces) {
    *pieces = (mtbi_pieces){.is_source = is_source};
    uintptr_t begin, end;
    size_t bytes = measure(record, is_source, &begin, &end), offset;
    /* A piece has bytes of no more pages than its length has, and two. */
    if (bytes < smallest_wrap ||
        (end - begin) / mtb_page_size() > bytes / mtb_page_size() + 2 * record->operations.count ||
        !fill_pages(record, is_source, begin, end))
        return;
    pieces->buffer = wrap_pages(record, begin, end, &offset);
    pieces->begin = begin - offset;
}

bool mtbi_pieces_take(const mtbi_pieces *pieces, mtbi_operation *operation) {
    if (!pieces->buffer || !is_piece(operation, pieces->is_source)) return false;
    mtb_place *host = host_of(operation, pieces->is_source);
    host->buffer = pieces->buffer;
    host->offset = (uintptr_t)host->bytes - pieces->begin;
    return true;
}
