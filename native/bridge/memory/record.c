/* The record of a transfer: what it holds, and the staging that it has. */
#include "memory/transfer.h"

#include "core/checks.h"

#include <stdlib.h>
#include <string.h>

/* A block that is not the first of a record has at least so much, since there will be more to put into it. */
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

void mtbi_record_let_go(mtbi_record *record) {
    for (size_t i = 0; i < record->buffer_count; i++) mtb_buffer_release(record->buffers[i]);
    record->buffer_count = 0;
    mtbi_crossings_give_back(record->memory, record->crossings);
    record->crossings = NULL;
    while (record->blocks) {
        mtb_buffer *block = record->blocks;
        record->blocks = block->next;
        mtb_buffer_release(block);
    }
}

void mtbi_record_free(mtbi_record *record) {
    mtbi_record_let_go(record);
    mtb_memory_release(record->memory);
    free(record->buffers);
    free(record->legs);
    free(record->operations);
    free(record);
}

/* `array` with room for one more; NULL where there is no memory, and the array stays as it is. */
static void *grow(void *array, size_t count, size_t *capacity, size_t element) {
    if (count < *capacity) return array;
    size_t larger = *capacity ? *capacity * 2 : 4;
    void *grown = realloc(array, larger * element);
    if (grown) *capacity = larger;
    return grown;
}

mtb_status mtbi_record_add(mtbi_record *record, const mtbi_operation *operation, mtb_error **error,
                           const char *function) {
    mtbi_operation *grown =
        grow(record->operations, record->operation_count, &record->operation_capacity, sizeof *record->operations);
    if (!grown)
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu copies", record->operation_count + 1);
    record->operations = grown;
    record->operations[record->operation_count++] = *operation;
    return MTB_OK;
}

mtb_status mtbi_record_add_leg(mtbi_record *record, const mtbi_operation *leg, mtb_error **error,
                               const char *function) {
    mtbi_operation *grown = grow(record->legs, record->leg_count, &record->leg_capacity, sizeof *record->legs);
    if (!grown) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu copies", record->leg_count + 1);
    record->legs = grown;
    record->legs[record->leg_count++] = *leg;
    return MTB_OK;
}

mtb_status mtbi_record_keep(mtbi_record *record, mtb_buffer *buffer, mtb_error **error, const char *function) {
    mtb_buffer **grown = grow(record->buffers, record->buffer_count, &record->buffer_capacity, sizeof *record->buffers);
    if (!grown) {
        mtb_buffer_release(buffer);
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu buffers", record->buffer_count + 1);
    }
    record->buffers = grown;
    record->buffers[record->buffer_count++] = buffer;
    return MTB_OK;
}

mtb_status mtbi_record_use(mtbi_record *record, mtb_buffer *buffer, mtb_error **error, const char *function) {
    /* Copies of a batch mostly go between the same two. */
    for (size_t i = record->buffer_count; i > 0 && i + 2 > record->buffer_count; i--)
        if (record->buffers[i - 1] == buffer) return MTB_OK;
    return mtbi_record_keep(record, mtb_buffer_retain(buffer), error, function);
}

/* At least `size` bytes in the record's first block, at an offset that is `phase` beyond a word. */
static mtb_status reserve(mtbi_record *record, size_t phase, size_t size, size_t *offset, mtb_error **error,
                          const char *function) {
    size_t begin = (record->block_used + WORD - 1) / WORD * WORD + phase;
    if (!record->blocks || begin > record->blocks->length || size > record->blocks->length - begin) {
        size_t wanted = size + phase;
        if (record->blocks && wanted < next_block_size) wanted = next_block_size;
        mtb_buffer *block = NULL;
        REQUIRE(mtbi_pool_take(&record->memory->staging, wanted, &block, error, function));
        block->length = block->capacity;
        block->next = record->blocks;
        record->blocks = block;
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
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "%zu rows of %zu bytes are too much to stage", height,
                         width);
    REQUIRE(reserve(record, offset % WORD, step * (height - 1) + width, &begin, error, function));
    *staged = (mtb_place){
        .buffer = record->blocks,
        .offset = begin,
        .bytes = (uint8_t *)record->blocks->contents + begin,
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
