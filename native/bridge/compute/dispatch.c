/* Dispatches. Plain C: this file writes down what Metal is to be told, and compute_encoder.m tells it a batch at a
 * time: one autorelease pool for hundreds of messages, since on GNUstep a pool costs as much as twenty of them.
 * Everything is checked before it is written down, so that callers learn of their mistakes at once. */
#include "compute/compute_encoder.h"
#include "core/checks.h"

#include <stdlib.h>
#include <string.h>

/* Kernels count threads in 32 bits. */
static bool fits_grid(size_t count, size_t unit) { return count <= UINT32_MAX / unit; }

/* Metal does nothing then, so it does not matter what is missing. */
static bool is_empty(mtb_size grid, mtb_size group) {
    return !grid.width || !grid.height || !grid.depth || !group.width || !group.height || !group.depth;
}

static mtb_status check_threadgroup(const mtb_pipeline *pipeline, mtb_size group, mtb_error **error,
                                    const char *function) {
    mtb_size limit = pipeline->device->info.max_threads_per_threadgroup;
    if (group.width > limit.width || group.height > limit.height || group.depth > limit.depth)
        return mtbi_fail(
            error, function, MTB_OUT_OF_RANGE,
            "threadgroups of %zu x %zu x %zu threads are too large: the device's largest are %zu x %zu x %zu",
            group.width, group.height, group.depth, limit.width, limit.height, limit.depth);
    size_t threads = group.width * group.height * group.depth;
    if (threads > pipeline->max_threads)
        return mtbi_fail(
            error, function, MTB_OUT_OF_RANGE,
            "threadgroups of %zu x %zu x %zu threads are too large: kernel `%s` can have %zu threads in all",
            group.width, group.height, group.depth, pipeline->name, pipeline->max_threads);
    return MTB_OK;
}

/* `unit` is what the grid counts: threads of one, or threadgroups. */
static mtb_status check_dispatch(const mtb_compute_encoder *encoder, mtb_size grid, mtb_size unit, mtb_size group,
                                 mtb_error **error, const char *function) {
    if (!encoder->pipeline) return mtbi_fail(error, function, MTB_INVALID_STATE, "no pipeline is set");
    REQUIRE(check_threadgroup(encoder->pipeline, group, error, function));
    if (!fits_grid(grid.width, unit.width) || !fits_grid(grid.height, unit.height) ||
        !fits_grid(grid.depth, unit.depth))
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "a grid of %zu x %zu x %zu is too large: each dimension has at most 2^32 - 1 threads",
                         grid.width, grid.height, grid.depth);
    return mtbi_compute_encoder_check_bindings(encoder, error, function);
}

/* Each set bit's index, the lowest first. */
#define FOR_EACH_BIT(index, bits)                                                                     \
    for (uint32_t left_ = (bits), index = 0; left_ && (index = (uint32_t)__builtin_ctz(left_), true); \
         left_ &= left_ - 1)

/* What one dispatch can add at most: the pipeline, each binding, itself. */
enum {
    MOST_COMMANDS = 2 + 2 * MTB_MAX_BINDINGS
};

/* Bytes that the next dispatch adds. */
static size_t changed_bytes(const mtb_compute_encoder *encoder) {
    size_t bytes = 0;
    FOR_EACH_BIT(index, encoder->changed)
    bytes += encoder->bindings[index].buffer ? 0 : encoder->bindings[index].length;
    return bytes;
}

static mtb_status grow_bytes(mtbi_batch *batch, size_t needed, mtb_error **error, const char *function) {
    if (needed <= batch->byte_capacity) return MTB_OK;
    size_t capacity = needed < MTBI_BATCH_BYTES ? MTBI_BATCH_BYTES : needed;
    uint8_t *grown = realloc(batch->bytes, capacity);
    if (!grown)
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu bytes set for a dispatch", needed);
    batch->bytes = grown;
    batch->byte_capacity = capacity;
    return MTB_OK;
}

/* Makes the batch large enough for one more dispatch. */
static mtb_status prepare_batch(mtb_compute_encoder *encoder, mtb_error **error, const char *function) {
    if (!encoder->batch) {
        encoder->batch = malloc(sizeof *encoder->batch);
        if (!encoder->batch) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a batch of commands");
        encoder->batch->count = 0;
        encoder->batch->bytes = NULL;
        encoder->batch->byte_count = encoder->batch->byte_capacity = 0;
    }
    mtbi_batch *batch = encoder->batch;
    if (batch->count + MOST_COMMANDS > MTBI_BATCH_COMMANDS || batch->byte_count >= MTBI_BATCH_BYTES)
        REQUIRE(mtbi_compute_encoder_flush(encoder, error, function));
    return grow_bytes(batch, batch->byte_count + changed_bytes(encoder), error, function);
}

static mtbi_command *add(mtbi_batch *batch, mtbi_command_kind kind, uint32_t index) {
    mtbi_command *command = &batch->commands[batch->count++];
    command->kind = (uint16_t)kind;
    command->index = (uint16_t)index;
    return command;
}

static void add_binding(mtbi_batch *batch, const mtbi_binding *binding, uint32_t index) {
    if (binding->buffer) {
        mtbi_command *command = add(batch, MTBI_SET_BUFFER, index);
        command->of.set.object = binding->buffer->metal;
        command->of.set.value = binding->offset;
        return;
    }
    mtbi_command *command = add(batch, MTBI_SET_BYTES, index);
    command->of.set.value = batch->byte_count;
    command->length = (uint32_t)binding->length;
    memcpy(batch->bytes + batch->byte_count, binding->bytes, binding->length);
    batch->byte_count += binding->length;
}

/* What has changed since the last dispatch. */
static void add_changes(mtb_compute_encoder *encoder) {
    mtbi_batch *batch = encoder->batch;
    if (encoder->is_pipeline_changed) add(batch, MTBI_SET_PIPELINE, 0)->of.set.object = encoder->pipeline->metal;
    FOR_EACH_BIT(index, encoder->changed)
    add_binding(batch, &encoder->bindings[index], index);
    FOR_EACH_BIT(index, encoder->moved)
    add(batch, MTBI_SET_OFFSET, index)->of.set.value = encoder->bindings[index].offset;
    FOR_EACH_BIT(index, encoder->changed_threadgroup_memory)
    add(batch, MTBI_SET_THREADGROUP_MEMORY, index)->length = (uint32_t)encoder->threadgroup_memory[index];
    encoder->is_pipeline_changed = false;
    encoder->changed = encoder->moved = encoder->changed_threadgroup_memory = 0;
}

/* check_dispatch has seen that the extents fit. */
static void store(uint32_t *extents, mtb_size size) {
    extents[0] = (uint32_t)size.width;
    extents[1] = (uint32_t)size.height;
    extents[2] = (uint32_t)size.depth;
}

static mtb_status add_dispatch(mtb_compute_encoder *encoder, mtbi_command_kind kind, mtb_size grid, mtb_size group,
                               mtb_error **error, const char *function) {
    REQUIRE(prepare_batch(encoder, error, function));
    add_changes(encoder);
    mtbi_command *command = add(encoder->batch, kind, 0);
    store(command->of.dispatch.grid, grid);
    store(command->of.dispatch.group, group);
    return MTB_OK;
}

mtb_status mtb_compute_encoder_dispatch_threads(mtb_compute_encoder *encoder, mtb_size threads,
                                                mtb_size threads_per_threadgroup, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    if (is_empty(threads, threads_per_threadgroup)) return MTB_OK;
    REQUIRE(check_dispatch(encoder, threads, (mtb_size){1, 1, 1}, threads_per_threadgroup, error, __func__));
    if (!encoder->pipeline->device->has_nonuniform_threadgroups)
        return FAIL(error, MTB_UNSUPPORTED,
                    "the device needs threadgroups of one size: use mtb_compute_encoder_dispatch_threadgroups");
    return add_dispatch(encoder, MTBI_DISPATCH_THREADS, threads, threads_per_threadgroup, error, __func__);
}

mtb_status mtb_compute_encoder_dispatch_threadgroups(mtb_compute_encoder *encoder, mtb_size threadgroups,
                                                     mtb_size threads_per_threadgroup, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    if (is_empty(threadgroups, threads_per_threadgroup)) return MTB_OK;
    REQUIRE(check_dispatch(encoder, threadgroups, threads_per_threadgroup, threads_per_threadgroup, error, __func__));
    return add_dispatch(encoder, MTBI_DISPATCH_THREADGROUPS, threadgroups, threads_per_threadgroup, error, __func__);
}

mtb_status mtb_compute_encoder_memory_barrier(mtb_compute_encoder *encoder, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(prepare_batch(encoder, error, __func__));
    add(encoder->batch, MTBI_MEMORY_BARRIER, 0);
    return MTB_OK;
}
