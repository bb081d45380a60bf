/* Setting what a dispatch uses. Plain C: the setters check and remember, and send no message. A setting that does not
 * change is not sent to Metal again. */
#include "compute/compute_encoder.h"
#include "core/checks.h"

#include <stdlib.h>
#include <string.h>

static mtb_status check_index(const mtb_compute_encoder *encoder, size_t index, mtb_error **error,
                              const char *function) {
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, function));
    if (index >= MTB_MAX_BINDINGS)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "index %zu is past the last, which is %u", index,
                         MTB_MAX_BINDINGS - 1);
    return MTB_OK;
}

static uint32_t bit(size_t index) { return UINT32_C(1) << index; }

/* Keeps a buffer, a table or a pipeline alive until the encoder ends. A mark on the handle says that the list has it
 * already, so that a buffer that is set a thousand times is retained once. Encoders of two threads that use one buffer
 * alternately overwrite each other's mark: then the buffer is in a list twice, and is released twice. */
static mtb_status keep(mtb_compute_encoder *encoder, mtbi_handle *handle, mtb_error **error, const char *function) {
    if (atomic_load_explicit(&handle->last_encoder, memory_order_relaxed) == encoder->serial) return MTB_OK;
    if (handle->kind == MTB_HANDLE_BUFFER)
        REQUIRE(mtbi_command_buffer_keep(encoder->base.command_buffer, (mtb_buffer *)handle, error, function));
    REQUIRE(mtbi_references_add(&encoder->kept, handle, error, function));
    atomic_store_explicit(&handle->last_encoder, encoder->serial, memory_order_relaxed);
    return MTB_OK;
}

mtb_status mtb_compute_encoder_set_pipeline(mtb_compute_encoder *encoder, mtb_pipeline *pipeline, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(GIVEN(pipeline));
    REQUIRE(
        mtbi_check_device(encoder->base.command_buffer->queue->device, pipeline->device, "pipeline", error, __func__));
    if (encoder->pipeline == pipeline) return MTB_OK;
    REQUIRE(keep(encoder, &pipeline->handle, error, __func__));
    encoder->pipeline = pipeline;
    encoder->is_pipeline_changed = true;
    return MTB_OK;
}

/* All that is bound at the index is sent before the next dispatch. */
static void mark_bound(mtb_compute_encoder *encoder, size_t index) {
    encoder->bound |= bit(index);
    encoder->changed |= bit(index);
    encoder->moved &= ~bit(index);
}

static void set_offset(mtb_compute_encoder *encoder, size_t index, size_t offset) {
    if (encoder->bindings[index].offset == offset) return;
    encoder->bindings[index].offset = offset;
    encoder->moved |= bit(index) & ~encoder->changed;
}

mtb_status mtb_compute_encoder_set_buffer(mtb_compute_encoder *encoder, mtb_buffer *buffer, size_t offset, size_t index,
                                          mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(check_index(encoder, index, error, __func__));
    REQUIRE(GIVEN(buffer));
    REQUIRE(mtbi_check_device(encoder->base.command_buffer->queue->device, buffer->device, "buffer", error, __func__));
    REQUIRE(mtbi_check_buffer_offset(buffer, offset, error, __func__));
    mtbi_binding *binding = &encoder->bindings[index];
    if (binding->buffer == buffer) {
        set_offset(encoder, index, offset);
        return MTB_OK;
    }
    REQUIRE(keep(encoder, &buffer->handle, error, __func__));
    binding->buffer = buffer;
    binding->table = NULL;
    binding->offset = offset;
    mark_bound(encoder, index);
    return MTB_OK;
}

mtb_status mtb_compute_encoder_set_visible_function_table(mtb_compute_encoder *encoder,
                                                          mtb_visible_function_table *table, size_t index,
                                                          mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(check_index(encoder, index, error, __func__));
    REQUIRE(GIVEN(table));
    REQUIRE(mtbi_check_device(encoder->base.command_buffer->queue->device, table->pipeline->device,
                              "visible function table", error, __func__));
    mtbi_binding *binding = &encoder->bindings[index];
    if (binding->table == table) return MTB_OK;
    REQUIRE(keep(encoder, &table->handle, error, __func__));
    binding->table = table;
    binding->buffer = NULL;
    mark_bound(encoder, index);
    return MTB_OK;
}

mtb_status mtb_compute_encoder_set_buffer_offset(mtb_compute_encoder *encoder, size_t offset, size_t index,
                                                 mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(check_index(encoder, index, error, __func__));
    if (!encoder->bindings[index].buffer) return FAIL(error, MTB_INVALID_STATE, "no buffer is set at index %zu", index);
    REQUIRE(mtbi_check_buffer_offset(encoder->bindings[index].buffer, offset, error, __func__));
    set_offset(encoder, index, offset);
    return MTB_OK;
}

mtb_status mtb_compute_encoder_set_bytes(mtb_compute_encoder *encoder, const void *bytes, size_t length, size_t index,
                                         mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(check_index(encoder, index, error, __func__));
    REQUIRE(GIVEN(bytes));
    if (length == 0 || length > MTB_MAX_INLINE_BYTES)
        return FAIL(error, MTB_OUT_OF_RANGE,
                    "`length` is %zu bytes, but only 1 to %u can be set inline: bind a buffer for more", length,
                    MTB_MAX_INLINE_BYTES);
    mtbi_binding *binding = &encoder->bindings[index];
    bool has_bytes = mtbi_has_bytes(binding) && (encoder->bound & bit(index));
    if (has_bytes && binding->length == length && memcmp(binding->bytes, bytes, length) == 0) return MTB_OK;
    if (length > binding->capacity) {
        uint8_t *grown = realloc(binding->bytes, length);
        if (!grown) return FAIL(error, MTB_OUT_OF_MEMORY, "no memory for %zu bytes", length);
        binding->bytes = grown;
        binding->capacity = length;
    }
    memcpy(binding->bytes, bytes, length);
    binding->length = length;
    binding->buffer = NULL;
    binding->table = NULL;
    mark_bound(encoder, index);
    return MTB_OK;
}

mtb_status mtb_compute_encoder_set_threadgroup_memory(mtb_compute_encoder *encoder, size_t length, size_t index,
                                                      mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(check_index(encoder, index, error, __func__));
    REQUIRE(mtbi_check_threadgroup_length(encoder->base.command_buffer->queue->device, length, error, __func__));
    if (encoder->threadgroup_memory[index] == length) return MTB_OK;
    encoder->threadgroup_memory[index] = length;
    encoder->changed_threadgroup_memory |= bit(index);
    return MTB_OK;
}

mtbi_bound mtbi_compute_encoder_bound(const mtb_compute_encoder *encoder, const mtb_argument *argument) {
    mtbi_bound bound = {0};
    if (argument->index >= MTB_MAX_BINDINGS) return bound;
    if (argument->kind == MTB_ARGUMENT_THREADGROUP_MEMORY)
        bound.is_set = encoder->threadgroup_memory[argument->index] > 0;
    bool is_bound_like_a_buffer =
        argument->kind == MTB_ARGUMENT_BUFFER || argument->kind == MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE;
    if (!is_bound_like_a_buffer || !(encoder->bound & bit(argument->index))) return bound;
    const mtbi_binding *binding = &encoder->bindings[argument->index];
    bound.is_set = true;
    bound.table = binding->table;
    bound.offset = binding->buffer ? binding->offset : 0;
    bound.available = binding->buffer ? binding->buffer->length - binding->offset : binding->length;
    return bound;
}

mtb_status mtbi_compute_encoder_check_bindings(const mtb_compute_encoder *encoder, mtb_error **error,
                                               const char *function) {
    const mtb_pipeline *pipeline = encoder->pipeline;
    uint32_t changed = encoder->changed | encoder->moved | encoder->changed_threadgroup_memory;
    if (!changed && !encoder->is_pipeline_changed) return MTB_OK;
    for (size_t i = 0; i < pipeline->argument_count; i++) {
        const mtb_argument *argument = &pipeline->arguments[i];
        REQUIRE(
            mtbi_check_argument(pipeline, argument, mtbi_compute_encoder_bound(encoder, argument), error, function));
    }
    size_t threadgroup_memory = 0;
    for (size_t index = 0; index < MTB_MAX_BINDINGS; index++) threadgroup_memory += encoder->threadgroup_memory[index];
    return mtbi_check_threadgroup_memory(pipeline, threadgroup_memory, error, function);
}

void mtbi_compute_encoder_forget(mtbi_encoder *base) {
    mtb_compute_encoder *encoder = (mtb_compute_encoder *)base;
    for (size_t index = 0; index < MTB_MAX_BINDINGS; index++) free(encoder->bindings[index].bytes);
    memset(encoder->bindings, 0, sizeof encoder->bindings);
    encoder->pipeline = NULL;
    mtbi_references_release(&encoder->kept);
    if (encoder->batch) free(encoder->batch->bytes);
    free(encoder->batch);
    encoder->batch = NULL;
}
