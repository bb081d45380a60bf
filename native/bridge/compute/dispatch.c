/* Dispatches. Plain C: this file writes down what Metal is to be told, and compute_encoder.m tells it a batch at a
 * time: one autorelease pool for hundreds of messages, since on GNUstep a pool costs as much as twenty of them.
 * Everything is checked before it is written down, so that callers learn of their mistakes at once. */
#include "compute/compute_encoder.h"
#include "core/checks.h"

#include <stdlib.h>
#include <string.h>

/* Metal does nothing then, so it does not matter what is missing. */
static bool is_empty(mtb_size grid, mtb_size group) { return mtbi_is_empty(grid) || mtbi_is_empty(group); }

/* `unit` is what the grid counts: threads of one, or threadgroups. */
static mtb_status check_dispatch(const mtb_compute_encoder *encoder, mtb_size grid, mtb_size unit, mtb_size group,
                                 mtb_error **error, const char *function) {
    if (!encoder->pipeline) return mtbi_fail(error, function, MTB_INVALID_STATE, "no pipeline is set");
    REQUIRE(mtbi_check_threadgroup(encoder->pipeline, group, error, function));
    REQUIRE(mtbi_check_grid(grid, unit, error, function));
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
    bytes += mtbi_has_bytes(&encoder->bindings[index]) ? encoder->bindings[index].length : 0;
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
    if (binding->table) {
        add(batch, MTBI_SET_TABLE, index)->of.set.object = binding->table->metal;
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
    REQUIRE(mtbi_check_nonuniform(encoder->pipeline->device, error, __func__));
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

mtb_status mtbi_compute_encoder_check_launch(const mtb_compute_encoder *encoder, mtb_size group, mtb_error **error,
                                             const char *function) {
    const mtb_size one = {1, 1, 1};
    return check_dispatch(encoder, one, one, group, error, function);
}

mtb_status mtbi_compute_encoder_send_settings(mtb_compute_encoder *encoder, mtb_error **error, const char *function) {
    REQUIRE(prepare_batch(encoder, error, function));
    add_changes(encoder);
    return mtbi_compute_encoder_flush(encoder, error, function);
}

void mtbi_compute_encoder_resend_settings(mtb_compute_encoder *encoder) {
    encoder->is_pipeline_changed = encoder->pipeline != NULL;
    encoder->changed = encoder->bound;
    encoder->moved = 0;
    for (uint32_t index = 0; index < MTB_MAX_BINDINGS; index++)
        if (encoder->threadgroup_memory[index] > 0) encoder->changed_threadgroup_memory |= UINT32_C(1) << index;
}
