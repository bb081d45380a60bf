/* The record of a transfer: what it keeps alive, and its staging. */
#include "memory/transfer.h"

#include "core/checks.h"

#include <stdlib.h>
#include <string.h>

/* The least bytes of a block that is not a record's first, since more will be put into it. */
static const size_t next_block_size = 64 << 10;
/* Bytes that blits move as one. */
enum {
    WORD = 4
};

mtbi_record *mtbi_record_create(mtb_memory *memory, mtb_error **error, const char *function) {
    mtbi_record *record = calloc(1, sizeof *record);
    if (record)
        record->memory = mtb_memory_retain(memory);
    else
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a transfer");
    return record;
}

void mtbi_record_release(mtbi_record *record) {
    mtbi_references_release(&record->buffers);
    mtbi_bounces_give_back(record->bounces);
    record->bounces = NULL;
}

void mtbi_record_free(mtbi_record *record) {
    mtbi_record_release(record);
    mtb_memory_release(record->memory);
    mtbi_pairs_free(record->pairs);
    free(record->host_copies.list);
    free(record->operations.list);
    free(record);
}

mtb_status mtbi_operations_add(mtbi_operations *operations, const mtbi_operation *operation, mtb_error **error,
                               const char *function) {
    if (operations->count == operations->capacity) {
        size_t capacity = operations->capacity ? 2 * operations->capacity : 4;
        mtbi_operation *grown = realloc(operations->list, capacity * sizeof *grown);
        if (!grown) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu copies", capacity);
        operations->list = grown;
        operations->capacity = capacity;
    }
    operations->list[operations->count++] = *operation;
    return MTB_OK;
}

mtb_status mtbi_record_use(mtbi_record *record, mtb_buffer *buffer, mtb_error **error, const char *function) {
    return mtbi_references_add(&record->buffers, &buffer->handle, error, function);
}

/* At least `size` bytes in the record's block, at an offset that is `phase` beyond a word. */
static mtb_status reserve(mtbi_record *record, size_t phase, size_t size, size_t *offset, mtb_error **error,
                          const char *function) {
    size_t begin = (record->block_used + WORD - 1) / WORD * WORD + phase;
    if (!record->block || begin > record->block->length || size > record->block->length - begin) {
        size_t wanted = size + phase;
        if (record->block && wanted < next_block_size) wanted = next_block_size;
        mtb_buffer *block = NULL;
        REQUIRE(mtbi_pool_take_buffer(&record->memory->staging, MTB_STORAGE_SHARED, wanted, &block, error, function));
        block->length = block->pooled.size;
        REQUIRE(mtbi_references_adopt(&record->buffers, &block->handle, error, function));
        record->block = block;
        begin = phase;
    }
    record->block_used = begin + size;
    *offset = begin;
    return MTB_OK;
}

mtb_status mtbi_record_stage(mtbi_record *record, size_t offset, size_t pitch, size_t width, size_t height,
                             mtb_place *staged, mtb_error **error, const char *function) {
    size_t step = height == 1 ? width : (width + WORD - 1) / WORD * WORD + pitch % WORD;
    size_t begin;
    if (height > 1 && step > SIZE_MAX / 2 / height)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "%zu rows of %zu bytes are too many to stage", height,
                         width);
    REQUIRE(reserve(record, offset % WORD, step * (height - 1) + width, &begin, error, function));
    *staged = (mtb_place){
        .buffer = record->block,
        .offset = begin,
        .bytes = (uint8_t *)record->block->contents + begin,
        .pitch = step,
    };
    return MTB_OK;
}

mtb_status mtbi_record_stage_source(mtbi_record *record, mtbi_operation *operation, mtb_error **error,
                                    const char *function) {
    mtb_place staged;
    REQUIRE(mtbi_record_stage(record, operation->destination.offset, operation->destination.pitch, operation->width,
                              operation->height, &staged, error, function));
    mtbi_operation copy = *operation;
    copy.destination = staged;
    mtbi_perform(&copy);
    operation->source = staged;
    return MTB_OK;
}
