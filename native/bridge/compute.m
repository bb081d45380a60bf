/* Compute encoders: dispatches and barriers. */
#import "checks.h"
#import "compute_encoder.h"
#import "guard.h"
#import "strings.h"

#include <stdlib.h>

mtb_compute_encoder *mtb_compute_encoder_create(mtb_command_buffer *command_buffer, mtb_dispatch_type dispatch_type,
                                                mtb_error **error)
{
    mtb_compute_encoder *encoder = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(command_buffer) || mtbi_command_buffer_check_open(command_buffer, error, __func__))
        return NULL;
    if (dispatch_type != MTB_DISPATCH_SERIAL && dispatch_type != MTB_DISPATCH_CONCURRENT) {
        FAIL(error, MTB_INVALID_ARGUMENT, "there is no dispatch type %u", (unsigned)dispatch_type);
        return NULL;
    }
    encoder = mtbi_handle_create(MTB_HANDLE_COMPUTE_ENCODER, sizeof *encoder, error, __func__);
    if (!encoder)
        return NULL;
    id<MTLCommandEncoder> metal =
        [command_buffer->metal computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatch_type];
    if (mtbi_encoder_begin(&encoder->base, command_buffer, metal, error, __func__)) {
        mtb_compute_encoder_release(encoder);
        return NULL;
    }
    return encoder;
    MTBI_LEAVE((mtb_compute_encoder_release(encoder), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

void mtbi_compute_encoder_destroy(mtb_compute_encoder *encoder)
{
    MTBI_ENTER
    mtbi_compute_encoder_forget(encoder);
    mtbi_encoder_destroy(&encoder->base);
    MTBI_LEAVE()
}

mtb_status mtb_compute_encoder_set_label(mtb_compute_encoder *encoder, const char *label, mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    return mtbi_set_label(encoder->base.metal, label, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

/* Kernels count threads in 32 bits. */
static bool fits_grid(size_t count, size_t unit)
{
    return count > 0 && count <= UINT32_MAX / unit;
}

static mtb_status check_threadgroup(const mtb_pipeline *pipeline, mtb_size group, mtb_error **error,
                                    const char *function)
{
    mtb_size limit = pipeline->device->info.max_threads_per_threadgroup;
    if (group.width == 0 || group.height == 0 || group.depth == 0)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "threadgroups of %zu x %zu x %zu threads", group.width,
                         group.height, group.depth);
    if (group.width > limit.width || group.height > limit.height || group.depth > limit.depth)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "threadgroups of %zu x %zu x %zu threads, where the device has %zu x %zu x %zu", group.width,
                         group.height, group.depth, limit.width, limit.height, limit.depth);
    size_t threads = group.width * group.height * group.depth;
    if (threads > pipeline->max_threads)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "threadgroups of %zu x %zu x %zu threads, where kernel `%s` can have %zu in all", group.width,
                         group.height, group.depth, pipeline->name, pipeline->max_threads);
    return MTB_OK;
}

/* `unit` is what the grid counts: threads of one, or threadgroups. */
static mtb_status check_dispatch(const mtb_compute_encoder *encoder, mtb_size grid, mtb_size unit, mtb_size group,
                                 mtb_error **error, const char *function)
{
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, function));
    if (!encoder->pipeline)
        return mtbi_fail(error, function, MTB_INVALID_STATE, "no pipeline is set");
    REQUIRE(check_threadgroup(encoder->pipeline, group, error, function));
    if (!fits_grid(grid.width, unit.width) || !fits_grid(grid.height, unit.height)
        || !fits_grid(grid.depth, unit.depth))
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "a grid of %zu x %zu x %zu (1 to 2^32 - 1 threads in each dimension)", grid.width, grid.height,
                         grid.depth);
    return mtbi_compute_encoder_check_bindings(encoder, error, function);
}

/* Each set bit's index, the lowest first. */
#define FOR_EACH_BIT(index, bits)                                                                                      \
    for (uint32_t left_ = (bits), index = 0; left_ && (index = (uint32_t)__builtin_ctz(left_), true); left_ &= left_ - 1)

/* Gives Metal what has changed since the last dispatch. What an exception leaves out is given again the next time. */
static void apply(mtb_compute_encoder *encoder)
{
    id<MTLComputeCommandEncoder> metal = (id<MTLComputeCommandEncoder>)encoder->base.metal;
    if (encoder->is_pipeline_changed)
        [metal setComputePipelineState:encoder->pipeline->metal];
    FOR_EACH_BIT(index, encoder->changed)
    {
        const mtbi_binding *binding = &encoder->bindings[index];
        if (binding->buffer)
            [metal setBuffer:binding->buffer->metal offset:binding->offset atIndex:index];
        else
            [metal setBytes:binding->bytes length:binding->length atIndex:index];
    }
    FOR_EACH_BIT(index, encoder->moved)
        [metal setBufferOffset:encoder->bindings[index].offset atIndex:index];
    FOR_EACH_BIT(index, encoder->changed_threadgroup_memory)
        [metal setThreadgroupMemoryLength:encoder->threadgroup_memory[index] atIndex:index];
    encoder->is_pipeline_changed = false;
    encoder->changed = encoder->moved = encoder->changed_threadgroup_memory = 0;
}

static MTLSize metal_size(mtb_size size)
{
    return MTLSizeMake(size.width, size.height, size.depth);
}

mtb_status mtb_compute_encoder_dispatch_threads(mtb_compute_encoder *encoder, mtb_size threads,
                                                mtb_size threads_per_threadgroup, mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_dispatch(encoder, threads, (mtb_size){1, 1, 1}, threads_per_threadgroup, error, __func__));
    if (!encoder->pipeline->device->has_nonuniform_threadgroups)
        return FAIL(error, MTB_UNSUPPORTED, "the device has no threadgroups of different sizes: dispatch threadgroups");
    apply(encoder);
    [(id<MTLComputeCommandEncoder>)encoder->base.metal dispatchThreads:metal_size(threads)
                                                 threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_dispatch_threadgroups(mtb_compute_encoder *encoder, mtb_size threadgroups,
                                                     mtb_size threads_per_threadgroup, mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_dispatch(encoder, threadgroups, threads_per_threadgroup, threads_per_threadgroup, error, __func__));
    apply(encoder);
    [(id<MTLComputeCommandEncoder>)encoder->base.metal dispatchThreadgroups:metal_size(threadgroups)
                                                      threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_memory_barrier(mtb_compute_encoder *encoder, mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    [(id<MTLComputeCommandEncoder>)encoder->base.metal memoryBarrierWithScope:MTLBarrierScopeBuffers];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

static mtb_status check_buffer(const mtb_compute_encoder *encoder, const mtb_buffer *buffer, mtb_error **error,
                               const char *function)
{
    REQUIRE(mtbi_check_given(buffer, "buffer", error, function));
    return mtbi_check_device(encoder->base.command_buffer->queue->device, buffer->device, "buffer", error, function);
}

mtb_status mtb_compute_encoder_memory_barrier_buffers(mtb_compute_encoder *encoder, mtb_buffer *const *buffers,
                                                      size_t count, mtb_error **error)
{
    id<MTLResource> *resources = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(GIVEN(buffers));
    if (count == 0)
        return FAIL(error, MTB_INVALID_ARGUMENT, "a barrier for no buffers");
    for (size_t i = 0; i < count; i++)
        REQUIRE(check_buffer(encoder, buffers[i], error, __func__));
    resources = calloc(count, sizeof *resources);
    if (!resources)
        return FAIL(error, MTB_OUT_OF_MEMORY, "no memory for a barrier of %zu buffers", count);
    for (size_t i = 0; i < count; i++)
        resources[i] = buffers[i]->metal;
    [(id<MTLComputeCommandEncoder>)encoder->base.metal memoryBarrierWithResources:resources count:count];
    free(resources);
    return MTB_OK;
    MTBI_LEAVE((free(resources), mtbi_fail_with_exception(error, __func__, exception)))
}

mtb_status mtb_compute_encoder_use_buffer(mtb_compute_encoder *encoder, mtb_buffer *buffer, mtb_usage usage,
                                          mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(check_buffer(encoder, buffer, error, __func__));
    if (usage != MTB_USAGE_READ && usage != MTB_USAGE_WRITE && usage != MTB_USAGE_READ_WRITE)
        return FAIL(error, MTB_INVALID_ARGUMENT, "there is no usage %u", (unsigned)usage);
    [(id<MTLComputeCommandEncoder>)encoder->base.metal useResource:buffer->metal usage:(MTLResourceUsage)usage];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_push_debug_group(mtb_compute_encoder *encoder, const char *name, mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    return mtbi_encoder_push_debug_group(ENCODER_BASE(encoder), name, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_pop_debug_group(mtb_compute_encoder *encoder, mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    return mtbi_encoder_pop_debug_group(ENCODER_BASE(encoder), error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_end(mtb_compute_encoder *encoder, mtb_error **error)
{
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    mtbi_encoder_end(&encoder->base);
    mtbi_compute_encoder_forget(encoder);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
