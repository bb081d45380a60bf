/* Compute encoders: the side that talks to Metal. */
#import "compute/compute_encoder.h"
#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"

#include <stdlib.h>

static void destroy(mtbi_handle *handle) {
    mtb_compute_encoder *encoder = (mtb_compute_encoder *)handle;
    MTBI_ENTER
    if (!encoder->base.has_ended) mtbi_compute_encoder_flush(encoder, NULL, "mtb_compute_encoder_release");
    mtbi_compute_encoder_forget(&encoder->base);
    mtbi_encoder_destroy(&encoder->base);
    MTBI_LEAVE()
}

mtb_compute_encoder *mtb_compute_encoder_create(mtb_command_buffer *command_buffer, mtb_dispatch_type dispatch_type,
                                                mtb_error **error) {
    mtb_compute_encoder *encoder = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(command_buffer) || mtbi_command_buffer_check_open(command_buffer, error, __func__)) return NULL;
    if (dispatch_type != MTB_DISPATCH_SERIAL && dispatch_type != MTB_DISPATCH_CONCURRENT) {
        FAIL(error, MTB_INVALID_ARGUMENT, "unknown dispatch type %u", (unsigned)dispatch_type);
        return NULL;
    }
    static _Atomic uint64_t last_serial;
    encoder = mtbi_handle_create(MTB_HANDLE_COMPUTE_ENCODER, sizeof *encoder, destroy, error, __func__);
    if (!encoder) return NULL;
    encoder->base.forget = mtbi_compute_encoder_forget;
    encoder->serial = atomic_fetch_add(&last_serial, 1) + 1;
    id<MTLCommandEncoder> metal =
        [command_buffer->metal computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatch_type];
    if (mtbi_encoder_begin(&encoder->base, command_buffer, metal, error, __func__)) {
        mtb_compute_encoder_release(encoder);
        return NULL;
    }
    return encoder;
    MTBI_LEAVE((mtb_compute_encoder_release(encoder), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static MTLSize metal_size(const uint32_t *extents) { return MTLSizeMake(extents[0], extents[1], extents[2]); }

/* One message sets buffers at consecutive indices. Returns how many commands the message took. */
static size_t send_buffers(id<MTLComputeCommandEncoder> metal, const mtbi_command *first, size_t count) {
    id<MTLBuffer> buffers[MTB_MAX_BINDINGS];
    NSUInteger offsets[MTB_MAX_BINDINGS];
    size_t run = 0;
    do {
        buffers[run] = (id<MTLBuffer>)first[run].of.set.object;
        offsets[run] = first[run].of.set.value;
        run++;
    } while (run < count && first[run].kind == MTBI_SET_BUFFER && first[run].index == first->index + run);
    if (run == 1)
        [metal setBuffer:buffers[0] offset:offsets[0] atIndex:first->index];
    else
        [metal setBuffers:buffers offsets:offsets withRange:NSMakeRange(first->index, run)];
    return run;
}

static void send_command(id<MTLComputeCommandEncoder> metal, const mtbi_command *command, const uint8_t *bytes) {
    switch ((mtbi_command_kind)command->kind) {
    case MTBI_SET_PIPELINE: [metal setComputePipelineState:(id<MTLComputePipelineState>)command->of.set.object]; break;
    case MTBI_SET_BUFFER: break; /* by send_buffers */
    case MTBI_SET_TABLE:
        [metal setVisibleFunctionTable:(id<MTLVisibleFunctionTable>)command->of.set.object
                         atBufferIndex:command->index];
        break;
    case MTBI_SET_OFFSET: [metal setBufferOffset:command->of.set.value atIndex:command->index]; break;
    case MTBI_SET_BYTES:
        [metal setBytes:bytes + command->of.set.value length:command->length atIndex:command->index];
        break;
    case MTBI_SET_THREADGROUP_MEMORY: [metal setThreadgroupMemoryLength:command->length atIndex:command->index]; break;
    case MTBI_DISPATCH_THREADS:
        [metal dispatchThreads:metal_size(command->of.dispatch.grid)
            threadsPerThreadgroup:metal_size(command->of.dispatch.group)];
        break;
    case MTBI_DISPATCH_THREADGROUPS:
        [metal dispatchThreadgroups:metal_size(command->of.dispatch.grid)
              threadsPerThreadgroup:metal_size(command->of.dispatch.group)];
        break;
    case MTBI_MEMORY_BARRIER: [metal memoryBarrierWithScope:MTLBarrierScopeBuffers]; break;
    }
}

/* If Metal raises an exception, the rest of the batch is lost, although the caller has been told that it was encoded;
 * so the command buffer can no longer be committed. */
mtb_status mtbi_compute_encoder_flush(mtb_compute_encoder *encoder, mtb_error **error, const char *function) {
    mtbi_batch *batch = encoder->batch;
    MTBI_ENTER
    if (!batch) return MTB_OK;
    id<MTLComputeCommandEncoder> metal = (id<MTLComputeCommandEncoder>)encoder->base.metal;
    size_t count = batch->count;
    batch->count = 0;
    for (size_t i = 0; i < count;) {
        const mtbi_command *command = &batch->commands[i];
        if (command->kind == MTBI_SET_BUFFER) {
            i += send_buffers(metal, command, count - i);
        } else {
            send_command(metal, command, batch->bytes);
            i++;
        }
    }
    batch->byte_count = 0;
    return MTB_OK;
    MTBI_LEAVE((batch->byte_count = 0, encoder->base.command_buffer->is_spoiled = true,
                mtbi_fail_with_exception(error, function, exception)))
}

mtb_status mtb_compute_encoder_set_label(mtb_compute_encoder *encoder, const char *label, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    return mtbi_set_label(encoder->base.metal, label, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

static mtb_status check_buffer(const mtb_compute_encoder *encoder, const mtb_buffer *buffer, mtb_error **error,
                               const char *function) {
    REQUIRE(mtbi_check_given(buffer, "buffer", error, function));
    return mtbi_check_device(encoder->base.command_buffer->queue->device, buffer->device, "buffer", error, function);
}

mtb_status mtb_compute_encoder_memory_barrier_buffers(mtb_compute_encoder *encoder, mtb_buffer *const *buffers,
                                                      size_t count, mtb_error **error) {
    id<MTLResource> *resources = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(GIVEN(buffers));
    if (count == 0) return FAIL(error, MTB_INVALID_ARGUMENT, "the barrier names no buffers");
    for (size_t i = 0; i < count; i++) REQUIRE(check_buffer(encoder, buffers[i], error, __func__));
    REQUIRE(mtbi_compute_encoder_flush(encoder, error, __func__));
    resources = calloc(count, sizeof *resources);
    if (!resources) return FAIL(error, MTB_OUT_OF_MEMORY, "no memory for a barrier of %zu buffers", count);
    for (size_t i = 0; i < count; i++) resources[i] = buffers[i]->metal;
    [(id<MTLComputeCommandEncoder>)encoder->base.metal memoryBarrierWithResources:resources count:count];
    free(resources);
    return MTB_OK;
    MTBI_LEAVE((free(resources), mtbi_fail_with_exception(error, __func__, exception)))
}

mtb_status mtb_compute_encoder_use_buffer(mtb_compute_encoder *encoder, mtb_buffer *buffer, mtb_usage usage,
                                          mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(check_buffer(encoder, buffer, error, __func__));
    if (usage != MTB_USAGE_READ && usage != MTB_USAGE_WRITE && usage != MTB_USAGE_READ_WRITE)
        return FAIL(error, MTB_INVALID_ARGUMENT, "unknown usage %u", (unsigned)usage);
    REQUIRE(mtbi_compute_encoder_flush(encoder, error, __func__));
    REQUIRE(mtbi_command_buffer_keep(encoder->base.command_buffer, buffer, error, __func__));
    [(id<MTLComputeCommandEncoder>)encoder->base.metal useResource:buffer->metal usage:(MTLResourceUsage)usage];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_push_debug_group(mtb_compute_encoder *encoder, const char *name, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(mtbi_compute_encoder_flush(encoder, error, __func__));
    return mtbi_encoder_push_debug_group(ENCODER_BASE(encoder), name, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_pop_debug_group(mtb_compute_encoder *encoder, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(mtbi_compute_encoder_flush(encoder, error, __func__));
    return mtbi_encoder_pop_debug_group(ENCODER_BASE(encoder), error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_end(mtb_compute_encoder *encoder, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    mtb_status status = mtbi_compute_encoder_flush(encoder, error, __func__);
    mtbi_encoder_end(&encoder->base);
    mtbi_compute_encoder_forget(&encoder->base);
    return status;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
