/* Recording copies and fills: what may be copied, and what the CPU reads at once. */
#include "memory/transfer.h"

#include "core/checks.h"
#include "core/clock.h"

#include <string.h>

static void destroy(mtbi_handle *handle) {
    mtb_transfer *transfer = (mtb_transfer *)handle;
    if (transfer->record) mtbi_record_free(transfer->record);
    mtb_command_queue_release(transfer->queue);
    mtb_memory_release(transfer->memory);
    mtbi_handle_free(handle);
}

mtb_transfer *mtb_transfer_create(mtb_memory *memory, mtb_command_queue *queue, mtb_error **error) {
    mtbi_error_clear(error);
    if (GIVEN(memory) || GIVEN(queue) || mtbi_check_device(memory->device, queue->device, "queue", error, __func__))
        return NULL;
    mtb_transfer *transfer = mtbi_handle_create(MTB_HANDLE_TRANSFER, sizeof *transfer, destroy, error, __func__);
    if (!transfer) return NULL;
    transfer->memory = mtb_memory_retain(memory);
    transfer->queue = mtb_command_queue_retain(queue);
    return transfer;
}

static mtb_status check_place(const mtb_place *place, const char *what, size_t width, size_t height, mtb_error **error,
                              const char *function) {
    size_t extent;
    if (!place->buffer) REQUIRE(mtbi_check_given(place->bytes, what, error, function));
    if (height > 1 && place->pitch < width)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the %s's rows of %zu bytes overlap: the pitch is %zu",
                         what, width, place->pitch);
    size_t pitch = height > 1 ? place->pitch : 0;
    if (__builtin_mul_overflow(pitch, height - 1, &extent) || __builtin_add_overflow(extent, width, &extent) ||
        (!place->buffer && extent > UINTPTR_MAX - (uintptr_t)place->bytes))
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "%zu rows of %zu bytes with a pitch of %zu reach beyond the address space", height, width,
                         pitch);
    if (!place->buffer) return MTB_OK;
    return mtbi_check_range(place->offset, extent, place->buffer->length, what, error, function);
}

/* Whether two blocks of rows at positions `a` and `b` have a byte in common. Interleaved rows with the same pitch need
 * not; interleaved rows with different pitches are taken to have one. */
static bool rows_overlap(uint64_t a, size_t a_pitch, uint64_t b, size_t b_pitch, size_t width, size_t height) {
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    size_t low_pitch = a < b ? a_pitch : b_pitch;
    uint64_t distance = high - low;
    if (height == 1 || distance >= low_pitch * (height - 1) + width) return distance < width;
    if (a_pitch != b_pitch) return true;
    uint64_t beyond_row = distance % low_pitch;
    return beyond_row < width || (low_pitch - beyond_row < width && distance / low_pitch + 1 < height);
}

static bool overlap(const mtb_place *a, const mtb_place *b, size_t width, size_t height) {
    const uint8_t *a_bytes = mtbi_place_address(a), *b_bytes = mtbi_place_address(b);
    if (a_bytes && b_bytes)
        return rows_overlap((uintptr_t)a_bytes, a->pitch, (uintptr_t)b_bytes, b->pitch, width, height);
    if (!a->buffer || !b->buffer || a->buffer->metal != b->buffer->metal) return false;
    return rows_overlap(a->offset, a->pitch, b->offset, b->pitch, width, height);
}

static mtb_transfer_kind kind_of(const mtb_memory *memory, const mtb_place *source, const mtb_place *destination) {
    if (source->buffer && destination->buffer)
        return mtbi_is_foreign(memory, source->buffer) || mtbi_is_foreign(memory, destination->buffer)
                   ? MTB_TRANSFER_PEER_STAGED
                   : MTB_TRANSFER_BUFFER_TO_BUFFER;
    if (destination->buffer) return MTB_TRANSFER_HOST_TO_SHARED + destination->buffer->mode;
    if (source->buffer) return MTB_TRANSFER_SHARED_TO_HOST + source->buffer->mode;
    return MTB_TRANSFER_HOST_TO_HOST;
}

/* Rows without gaps are one row. */
static void join_rows(mtbi_operation *operation) {
    bool is_copy = operation->action == MTBI_COPY;
    if (operation->height > 1 && operation->destination.pitch == operation->width &&
        (!is_copy || operation->source.pitch == operation->width)) {
        operation->width *= operation->height;
        operation->height = 1;
    }
    if (operation->height == 1) operation->source.pitch = operation->destination.pitch = operation->width;
}

static bool follows(const mtb_place *first, const mtb_place *second, size_t width) {
    if (first->buffer != second->buffer) return false;
    return first->buffer ? first->offset + width == second->offset
                         : (uint8_t *)first->bytes + width == (uint8_t *)second->bytes;
}

/* Makes one copy of two if the second begins where the first ends, on both sides, and reads nothing that the first has
 * written. */
static bool join(mtbi_operation *first, const mtbi_operation *second) {
    if (first->action != MTBI_COPY || second->action != MTBI_COPY || first->height != 1 || second->height != 1 ||
        first->kind != second->kind || !follows(&first->source, &second->source, first->width) ||
        !follows(&first->destination, &second->destination, first->width) ||
        overlap(&first->source, &first->destination, first->width + second->width, 1))
        return false;
    first->width += second->width;
    first->source.pitch = first->destination.pitch = first->width;
    return true;
}

static mtb_status add(mtb_transfer *transfer, mtbi_operation *operation, mtb_error **error, const char *function) {
    mtbi_record *record = transfer->record;
    uint64_t bytes = (uint64_t)operation->width * operation->height;
    mtbi_operation *last = record->operations.count ? &record->operations.list[record->operations.count - 1] : NULL;
    if (!last || !join(last, operation)) {
        if (operation->action == MTBI_COPY && operation->source.buffer)
            REQUIRE(mtbi_record_use(record, operation->source.buffer, error, function));
        if (operation->destination.buffer)
            REQUIRE(mtbi_record_use(record, operation->destination.buffer, error, function));
        REQUIRE(mtbi_operations_add(&record->operations, operation, error, function));
    }
    record->sums[operation->kind].count++;
    record->sums[operation->kind].bytes += bytes;
    return MTB_OK;
}

/* Adds a copy between devices, which reads `source` itself or a view of it. */
static mtb_status add_between_devices(mtb_transfer *transfer, mtbi_operation *copy, const mtb_buffer *source,
                                      mtb_error **error, const char *function) {
    bool is_from_other = mtbi_is_foreign(transfer->memory, source);
    const mtb_buffer *other = is_from_other ? source : copy->destination.buffer;
    mtb_pair_statistics of = {
        .other_registry_id = other->device->info.registry_id,
        .is_from_other = is_from_other,
        .kind = copy->kind,
    };
    uint64_t bytes = (uint64_t)copy->width * copy->height;
    mtbi_pair *pair = NULL;
    REQUIRE(mtbi_pairs_get(&transfer->record->pairs, &of, &pair, error, function));
    REQUIRE(add(transfer, copy, error, function));
    pair->statistics.transfers.count++;
    pair->statistics.transfers.bytes += bytes;
    return MTB_OK;
}

/* A buffer of another device is for copies from or to a buffer of the queue's. */
static mtb_status check_devices(const mtb_transfer *transfer, const mtb_place *source, const mtb_place *destination,
                                mtb_error **error, const char *function) {
    mtb_device *own = transfer->queue->device;
    if (source->buffer && destination->buffer && !mtbi_is_foreign(transfer->memory, source->buffer)) return MTB_OK;
    if (source->buffer && (!destination->buffer || mtbi_is_foreign(transfer->memory, destination->buffer)))
        REQUIRE(mtbi_check_device(own, source->buffer->device, "source", error, function));
    if (destination->buffer && !source->buffer)
        return mtbi_check_device(own, destination->buffer->device, "destination", error, function);
    return MTB_OK;
}

static mtb_status begin(mtb_transfer *transfer, mtb_error **error, const char *function) {
    if (!transfer->record) transfer->record = mtbi_record_create(transfer->memory, error, function);
    return transfer->record ? MTB_OK : mtbi_last_failure();
}

mtb_status mtb_transfer_copy(mtb_transfer *transfer, mtb_place source, mtb_place destination, size_t width,
                             size_t height, mtb_host_memory host, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(GIVEN(transfer));
    if (host != MTB_HOST_COPIED && host != MTB_HOST_BORROWED)
        return FAIL(error, MTB_INVALID_ARGUMENT, "unknown kind of host memory %u", (unsigned)host);
    if (width == 0 || height == 0) return MTB_OK;
    REQUIRE(check_place(&source, "source", width, height, error, __func__));
    REQUIRE(check_place(&destination, "destination", width, height, error, __func__));
    REQUIRE(check_devices(transfer, &source, &destination, error, __func__));
    mtbi_operation operation = {
        .action = MTBI_COPY,
        .kind = kind_of(transfer->memory, &source, &destination),
        .source = source,
        .destination = destination,
        .width = width,
        .height = height,
    };
    join_rows(&operation);
    if (overlap(&operation.source, &operation.destination, operation.width, operation.height))
        return FAIL(error, MTB_INVALID_ARGUMENT, "source and destination overlap (%zu rows of %zu bytes)", height,
                    width);
    REQUIRE(begin(transfer, error, __func__));
    if (operation.kind == MTB_TRANSFER_PEER_STAGED) {
        REQUIRE(mtbi_record_view_source(transfer->record, &operation, error, __func__));
        return add_between_devices(transfer, &operation, source.buffer, error, __func__);
    }
    if (!source.buffer && host == MTB_HOST_COPIED) {
        uint64_t start = mtbi_now();
        REQUIRE(mtbi_record_stage_source(transfer->record, &operation, error, __func__));
        transfer->record->cpu_ns += mtbi_now() - start;
        /* What goes on to host memory is the CPU's from there too. */
        if (!destination.buffer) operation.source.buffer = NULL;
    }
    return add(transfer, &operation, error, __func__);
}

mtb_status mtb_transfer_fill(mtb_transfer *transfer, mtb_place destination, size_t width, size_t height,
                             const void *pattern, size_t pattern_size, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(GIVEN(transfer));
    REQUIRE(GIVEN(pattern));
    if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4)
        return FAIL(error, MTB_INVALID_ARGUMENT, "a pattern has 1, 2 or 4 bytes, not %zu", pattern_size);
    REQUIRE(mtbi_check_multiple(width, pattern_size, "width", error, __func__));
    if (width == 0 || height == 0) return MTB_OK;
    REQUIRE(check_place(&destination, "destination", width, height, error, __func__));
    REQUIRE(check_devices(transfer, &(mtb_place){0}, &destination, error, __func__));
    mtbi_operation operation = {
        .action = MTBI_FILL,
        .kind = MTB_TRANSFER_FILL,
        .destination = destination,
        .width = width,
        .height = height,
    };
    for (size_t i = 0; i < sizeof operation.pattern; i++)
        operation.pattern[i] = ((const uint8_t *)pattern)[i % pattern_size];
    operation.is_uniform = memcmp(operation.pattern, operation.pattern + 1, sizeof operation.pattern - 1) == 0;
    join_rows(&operation);
    REQUIRE(begin(transfer, error, __func__));
    return add(transfer, &operation, error, __func__);
}
