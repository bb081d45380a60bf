/* What becomes of host memory before a record is encoded. Large pieces are wrapped in a buffer, so that the GPU reads
 * or writes them itself; the rest goes through staging, which the CPU fills before the GPU copies, or empties
 * afterwards.
 */
#include "core/checks.h"
#include "core/clock.h"
#include "memory/transfer.h"
#include "queue/host_copies.h"

/* Whether a host copy of this record writes some of this memory. */
static bool is_awaited(const mtbi_record *record, const uint8_t *begin, size_t length) {
    for (size_t i = 0; i < record->host_copies.count; i++) {
        const mtbi_operation *copy = &record->host_copies.list[i];
        const uint8_t *to = copy->destination.bytes;
        if (begin < to + mtbi_extent(&copy->destination, copy->width, copy->height) && to < begin + length) return true;
    }
    return false;
}

/* Buffers around small pieces. */
typedef struct wrapped {
    mtbi_pieces sources;
    mtbi_pieces destinations;
} wrapped;

static mtb_status plan_source(mtbi_record *record, mtbi_operation *operation, const wrapped *wrapped, mtb_error **error,
                              const char *function) {
    if (mtbi_pieces_take(&wrapped->sources, operation) ||
        mtbi_record_wrap(record, &operation->source, operation->width, operation->height))
        return MTB_OK;
    return mtbi_record_stage_source(record, operation, error, function);
}

static mtb_status plan_destination(mtbi_record *record, mtbi_operation *operation, const wrapped *wrapped,
                                   const mtb_command_queue *queue, mtb_error **error, const char *function) {
    mtb_place host = operation->destination, staged;
    size_t width = operation->width, height = operation->height;
    if (!is_awaited(record, host.bytes, mtbi_extent(&host, width, height)) &&
        (mtbi_pieces_take(&wrapped->destinations, operation) ||
         mtbi_record_wrap(record, &operation->destination, width, height))) {
        /* Earlier transfers may make host copies to the same memory. */
        record->awaited_host_copies = mtbi_host_copies_to_await(queue);
        return MTB_OK;
    }
    REQUIRE(mtbi_record_stage(record, operation->source.offset, operation->source.pitch, width, height, &staged, error,
                              function));
    operation->destination = staged;
    mtbi_operation copy = *operation;
    copy.source = staged;
    copy.destination = host;
    return mtbi_operations_add(&record->host_copies, &copy, error, function);
}

static mtb_status plan(mtbi_record *record, mtbi_operation *operation, const wrapped *wrapped,
                       const mtb_command_queue *queue, mtb_error **error, const char *function) {
    bool reads_host = operation->action == MTBI_COPY && !operation->source.buffer;
    if (operation->destination.buffer)
        return reads_host ? plan_source(record, operation, wrapped, error, function) : MTB_OK;
    if (operation->action == MTBI_COPY && !reads_host)
        return plan_destination(record, operation, wrapped, queue, error, function);
    return mtbi_operations_add(&record->host_copies, operation, error, function);
}

mtb_status mtbi_record_plan(mtbi_record *record, mtb_command_queue *queue, mtb_error **error, const char *function) {
    wrapped wrapped = {0};
    uint64_t start = mtbi_now();
    mtbi_record_wrap_pieces(record, true, &wrapped.sources);
    mtbi_record_wrap_pieces(record, false, &wrapped.destinations);
    size_t kept = 0;
    for (size_t i = 0; i < record->operations.count; i++) {
        mtbi_operation *operation = &record->operations.list[i];
        REQUIRE(plan(record, operation, &wrapped, queue, error, function));
        if (!operation->destination.buffer) continue;
        if (kept < i) record->operations.list[kept] = *operation;
        kept++;
    }
    record->operations.count = kept;
    record->cpu_ns += mtbi_now() - start;
    if (record->host_copies.count == 0) return MTB_OK;
    record->queue = queue;
    return mtbi_host_copies_prepare(queue, error);
}
