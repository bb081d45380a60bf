/* What becomes of host memory before a record is encoded. A large piece is wrapped in a buffer, so that the GPU
 * copies it where it is; the rest goes through staging, which the CPU fills before, or empties after, the GPU has
 * its turn. */
#include "../checks.h"
#include "../clock.h"
#include "transfer.h"

/* Below this the second copy, which stays in the caches, is taken to cost less than making a wrapped buffer. */
static const size_t smallest_wrap = 256 << 10;

static size_t extent(const mtb_place *place, size_t width, size_t height)
{
    return height > 1 ? place->pitch * (height - 1) + width : width;
}

/* Makes the host memory at `place` a buffer of the pages that it is in. False where that does not pay, or Metal does
 * not want these pages. */
static bool wrap(mtbi_record *record, mtb_place *place, size_t width, size_t height)
{
    if (width * height < smallest_wrap)
        return false;
    uintptr_t page = mtb_page_size(), begin = (uintptr_t)place->bytes;
    uintptr_t first = begin / page * page, end = begin + extent(place, width, height);
    if (end > UINTPTR_MAX - page)
        return false;
    size_t length = (end - first + page - 1) / page * page;
    mtb_buffer *buffer = mtb_buffer_create_no_copy(record->memory->device, (void *)first, length, MTB_STORAGE_SHARED,
                                                   NULL, NULL, NULL);
    if (!buffer || mtbi_record_keep(record, buffer, NULL, __func__))
        return false;
    place->buffer = buffer;
    place->offset = begin - first;
    return true;
}

/* Whether the CPU still is to write some of this memory. */
static bool is_awaited(const mtbi_record *record, const uint8_t *begin, size_t length)
{
    for (size_t i = 0; i < record->leg_count; i++) {
        const mtbi_operation *leg = &record->legs[i];
        const uint8_t *leg_begin = leg->destination.bytes;
        if (begin < leg_begin + extent(&leg->destination, leg->width, leg->height) && leg_begin < begin + length)
            return true;
    }
    return false;
}

static mtb_status plan_source(mtbi_record *record, mtbi_operation *operation, mtb_error **error, const char *function)
{
    if (wrap(record, &operation->source, operation->width, operation->height))
        return MTB_OK;
    return mtbi_record_stage_source(record, operation, error, function);
}

static mtb_status plan_destination(mtbi_record *record, mtbi_operation *operation, bool may_wrap, mtb_error **error,
                                   const char *function)
{
    mtb_place host = operation->destination, staged;
    size_t width = operation->width, height = operation->height;
    if (may_wrap && !is_awaited(record, host.bytes, extent(&host, width, height))
        && wrap(record, &operation->destination, width, height))
        return MTB_OK;
    REQUIRE(mtbi_record_stage(record, operation->source.offset, operation->source.pitch, width, height, &staged, error,
                              function));
    operation->destination = staged;
    mtbi_operation leg = *operation;
    leg.source = staged;
    leg.destination = host;
    return mtbi_record_add_leg(record, &leg, error, function);
}

static mtb_status plan(mtbi_record *record, mtbi_operation *operation, bool may_wrap, mtb_error **error,
                       const char *function)
{
    bool reads_host = operation->action == MTBI_COPY && !operation->source.buffer;
    if (operation->destination.buffer)
        return reads_host ? plan_source(record, operation, error, function) : MTB_OK;
    if (operation->action == MTBI_COPY && !reads_host)
        return plan_destination(record, operation, may_wrap, error, function);
    return mtbi_record_add_leg(record, operation, error, function);
}

mtb_status mtbi_record_plan(mtbi_record *record, mtb_queue *queue, mtb_error **error, const char *function)
{
    /* The GPU must not write to host memory before the legs of earlier transfers, which may be to the same place. */
    bool may_wrap = atomic_load(&queue->legs) == 0;
    uint64_t start = mtbi_now();
    size_t kept = 0;
    for (size_t i = 0; i < record->operation_count; i++) {
        mtbi_operation *operation = &record->operations[i];
        REQUIRE(plan(record, operation, may_wrap, error, function));
        if (!operation->destination.buffer)
            continue;
        if (kept < i)
            record->operations[kept] = *operation;
        kept++;
    }
    record->operation_count = kept;
    record->cpu_ns += mtbi_now() - start;
    if (record->leg_count > 0) {
        atomic_fetch_add(&queue->legs, 1);
        record->queue = queue;
    }
    return MTB_OK;
}
