/* The copies and fills that the CPU does itself. */
#include "memory/transfer.h"

#include "core/checks.h"
#include "core/clock.h"

#include <string.h>

uint8_t *mtbi_place_address(const mtb_place *place) {
    if (!place->buffer) return place->bytes;
    return place->buffer->contents ? (uint8_t *)place->buffer->contents + place->offset : NULL;
}

static void fill_row(uint8_t *row, const mtbi_operation *fill) {
    size_t done = sizeof fill->pattern < fill->width ? sizeof fill->pattern : fill->width;
    memcpy(row, fill->pattern, done);
    /* What is filled doubles, and stays a multiple of the pattern. */
    while (done < fill->width) {
        size_t more = done < fill->width - done ? done : fill->width - done;
        memcpy(row + done, row, more);
        done += more;
    }
}

void mtbi_perform(const mtbi_operation *operation) {
    uint8_t *to = mtbi_place_address(&operation->destination);
    const uint8_t *from = operation->action == MTBI_COPY ? mtbi_place_address(&operation->source) : NULL;
    for (size_t row = 0; row < operation->height; row++)
        if (from)
            memcpy(to + row * operation->destination.pitch, from + row * operation->source.pitch, operation->width);
        else if (operation->is_uniform)
            memset(to + row * operation->destination.pitch, operation->pattern[0], operation->width);
        else
            fill_row(to + row * operation->destination.pitch, operation);
}

/* The CPU's copy of a managed buffer may be older than the GPU's. So the CPU does not read it; and what the CPU writes
 * there goes on to the GPU as one range, in which nothing else may be. */
static bool is_for_cpu(const mtbi_operation *operation) {
    const mtb_buffer *source = operation->action == MTBI_COPY ? operation->source.buffer : NULL;
    const mtb_buffer *destination = operation->destination.buffer;
    return (!source || source->mode == MTB_STORAGE_SHARED) &&
           (!destination || destination->mode == MTB_STORAGE_SHARED ||
            (destination->mode == MTB_STORAGE_MANAGED && operation->height == 1));
}

bool mtbi_record_is_for_cpu(const mtbi_record *record) {
    for (size_t i = 0; i < record->operations.count; i++)
        if (!is_for_cpu(&record->operations.list[i])) return false;
    return true;
}

mtb_status mtbi_record_run_on_cpu(mtbi_record *record, mtb_error **error) {
    for (size_t i = 0; i < record->operations.count; i++) {
        const mtbi_operation *operation = &record->operations.list[i];
        const mtb_place *to = &operation->destination;
        uint64_t start = mtbi_now();
        mtbi_perform(operation);
        if (to->buffer && to->buffer->mode == MTB_STORAGE_MANAGED)
            REQUIRE(mtb_buffer_did_modify_range(to->buffer, to->offset, operation->width, error));
        record->sums[operation->kind].nanoseconds += mtbi_now() - start;
    }
    return MTB_OK;
}
