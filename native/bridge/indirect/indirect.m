/* Indirect command buffers: making them, and encoding their commands by the CPU. */
#import "indirect/indirect.h"

#import "core/checks.h"
#import "core/guard.h"

#include <stdlib.h>

/* Newer SDKs than those of macOS 11 declare this property. */
@protocol MTBIThreadgroupMemories
- (void)setMaxKernelThreadgroupMemoryBindCount:(NSUInteger)count;
@end

static void destroy(mtbi_handle *handle) {
    mtb_indirect_command_buffer *commands = (mtb_indirect_command_buffer *)handle;
    MTBI_ENTER
    if (commands->commands && commands->bindings && commands->threadgroup_memory)
        mtbi_indirect_forget(commands, 0, commands->count);
    free(commands->commands);
    free(commands->bindings);
    free(commands->threadgroup_memory);
    [commands->metal release];
    mtb_device_release(commands->device);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

static mtb_status check_descriptor(const mtb_indirect_descriptor *descriptor, size_t count, mtb_error **error,
                                   const char *function) {
    const uint32_t known = MTB_INDIRECT_DISPATCH_THREADGROUPS | MTB_INDIRECT_DISPATCH_THREADS;
    REQUIRE(mtbi_check_given(descriptor, "descriptor", error, function));
    if (descriptor->command_types == 0 || (descriptor->command_types & ~known))
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "command types 0x%x are not those of dispatches",
                         (unsigned)descriptor->command_types);
    if (count == 0) return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "`count` is zero");
    if (count > MTB_MAX_INDIRECT_COMMANDS)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "%zu commands are too many: the most are %u", count,
                         MTB_MAX_INDIRECT_COMMANDS);
    if (descriptor->max_buffers > MTB_MAX_BINDINGS || descriptor->max_threadgroup_memories > MTB_MAX_BINDINGS)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "%zu buffers and %zu threadgroup memories are too many for a command: the most are %u",
                         descriptor->max_buffers, descriptor->max_threadgroup_memories, MTB_MAX_BINDINGS);
    return MTB_OK;
}

static id<MTLIndirectCommandBuffer> make_metal(const mtb_indirect_command_buffer *commands) {
    const mtb_indirect_descriptor *from = &commands->descriptor;
    MTLIndirectCommandBufferDescriptor *to = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
    [to setCommandTypes:(MTLIndirectCommandType)from->command_types];
    [to setInheritPipelineState:from->inherits_pipeline];
    [to setInheritBuffers:from->inherits_buffers];
    [to setMaxKernelBufferBindCount:from->max_buffers];
    if ([to respondsToSelector:@selector(setMaxKernelThreadgroupMemoryBindCount:)])
        [(id<MTBIThreadgroupMemories>)to setMaxKernelThreadgroupMemoryBindCount:from->max_threadgroup_memories];
    return [commands->device->metal newIndirectCommandBufferWithDescriptor:to maxCommandCount:commands->count
                                                                   options:MTLResourceStorageModeShared];
}

/* Metal promises nothing of new commands, so they are reset. */
static mtb_status fill(mtb_indirect_command_buffer *commands, mtb_error **error, const char *function) {
    const mtb_indirect_descriptor *descriptor = &commands->descriptor;
    size_t count = commands->count;
    commands->commands = calloc(count, sizeof *commands->commands);
    commands->bindings = calloc(count * descriptor->max_buffers + 1, sizeof *commands->bindings);
    commands->threadgroup_memory =
        calloc(count * descriptor->max_threadgroup_memories + 1, sizeof *commands->threadgroup_memory);
    if (!commands->commands || !commands->bindings || !commands->threadgroup_memory)
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu commands", count);
    commands->metal = make_metal(commands);
    if (!commands->metal)
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY,
                         "Metal could not make an indirect command buffer of %zu commands", count);
    if (@available(macOS 13.0, *)) commands->gpu_resource_id = [commands->metal gpuResourceID]._impl;
    [commands->metal resetWithRange:NSMakeRange(0, count)];
    return MTB_OK;
}

mtb_indirect_command_buffer *mtb_indirect_command_buffer_create(mtb_device *device,
                                                                const mtb_indirect_descriptor *descriptor, size_t count,
                                                                mtb_error **error) {
    mtb_indirect_command_buffer *commands = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device) || check_descriptor(descriptor, count, error, __func__) ||
        mtbi_check_indirect_support(device, error, __func__))
        return NULL;
    commands = mtbi_handle_create(MTB_HANDLE_INDIRECT_COMMAND_BUFFER, sizeof *commands, destroy, error, __func__);
    if (!commands) return NULL;
    commands->device = mtb_device_retain(device);
    commands->count = count;
    commands->descriptor = *descriptor;
    if (descriptor->inherits_buffers) commands->descriptor.max_buffers = 0;
    if (fill(commands, error, __func__) == MTB_OK) return commands;
    mtb_indirect_command_buffer_release(commands);
    return NULL;
    MTBI_LEAVE(
        (mtb_indirect_command_buffer_release(commands), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static mtb_status check_command(const mtb_indirect_command_buffer *commands, size_t index, mtb_error **error,
                                const char *function) {
    REQUIRE(mtbi_check_given(commands, "commands", error, function));
    if (index < commands->count) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "command %zu is past the last, which is %zu", index,
                     commands->count - 1);
}

/* What the GPU has reset, the CPU begins anew. */
static id<MTLIndirectComputeCommand> open_command(mtb_indirect_command_buffer *commands, size_t index) {
    const mtbi_indirect_command *command = &commands->commands[index];
    if (command->is_reset_by_gpu) {
        const bool barrier = command->barrier_after_reset;
        [commands->metal resetWithRange:NSMakeRange(index, 1)];
        mtbi_indirect_forget(commands, index, 1);
        if (barrier) [[commands->metal indirectComputeCommandAtIndex:index] setBarrier];
    }
    return [commands->metal indirectComputeCommandAtIndex:index];
}

/* The command exists and has no dispatch. */
static mtb_status check_settable(const mtb_indirect_command_buffer *commands, size_t index, mtb_error **error,
                                 const char *function) {
    REQUIRE(check_command(commands, index, error, function));
    const mtbi_indirect_command *command = &commands->commands[index];
    if (!command->has_dispatch || command->is_reset_by_gpu) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_STATE, "command %zu has its dispatch: reset the command first",
                     index);
}

static mtb_status check_binding(size_t binding, size_t limit, const char *what, size_t index, mtb_error **error,
                                const char *function) {
    if (binding < limit) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                     "index %zu of command %zu is past the last: the descriptor has %zu %s", binding, index, limit,
                     what);
}

mtb_status mtb_indirect_command_set_pipeline(mtb_indirect_command_buffer *commands, size_t index,
                                             mtb_pipeline *pipeline, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_settable(commands, index, error, __func__));
    REQUIRE(GIVEN(pipeline));
    REQUIRE(mtbi_check_device(commands->device, pipeline->device, "pipeline", error, __func__));
    if (commands->descriptor.inherits_pipeline)
        return FAIL(error, MTB_INVALID_STATE, "command %zu inherits the encoder's pipeline", index);
    if (!pipeline->supports_indirect_commands)
        return FAIL(error, MTB_INVALID_ARGUMENT,
                    "the pipeline of `%s` is not for command %zu: make it with "
                    "mtb_pipeline_create_for_indirect_commands",
                    pipeline->name, index);
    [open_command(commands, index) setComputePipelineState:pipeline->metal];
    mtb_pipeline *replaced = commands->commands[index].pipeline;
    commands->commands[index].pipeline = mtb_pipeline_retain(pipeline);
    mtb_pipeline_release(replaced);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_indirect_command_set_buffer(mtb_indirect_command_buffer *commands, size_t index, mtb_buffer *buffer,
                                           size_t offset, size_t binding, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_settable(commands, index, error, __func__));
    REQUIRE(GIVEN(buffer));
    REQUIRE(mtbi_check_device(commands->device, buffer->device, "buffer", error, __func__));
    if (commands->descriptor.inherits_buffers)
        return FAIL(error, MTB_INVALID_STATE, "command %zu inherits the encoder's buffers", index);
    REQUIRE(check_binding(binding, commands->descriptor.max_buffers, "buffers", index, error, __func__));
    REQUIRE(mtbi_check_buffer_offset(buffer, offset, error, __func__));
    [open_command(commands, index) setKernelBuffer:buffer->metal offset:offset atIndex:binding];
    mtbi_indirect_binding *place = &commands->bindings[index * commands->descriptor.max_buffers + binding];
    mtb_buffer *replaced = place->buffer;
    *place = (mtbi_indirect_binding){mtb_buffer_retain(buffer), offset};
    mtb_buffer_release(replaced);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_indirect_command_set_threadgroup_memory(mtb_indirect_command_buffer *commands, size_t index,
                                                       size_t length, size_t binding, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_settable(commands, index, error, __func__));
    REQUIRE(check_binding(binding, commands->descriptor.max_threadgroup_memories, "threadgroup memories", index, error,
                          __func__));
    REQUIRE(mtbi_check_threadgroup_length(commands->device, length, error, __func__));
    [open_command(commands, index) setThreadgroupMemoryLength:length atIndex:binding];
    commands->threadgroup_memory[index * commands->descriptor.max_threadgroup_memories + binding] = (uint32_t)length;
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

static MTLSize metal_size(mtb_size size) { return MTLSizeMake(size.width, size.height, size.depth); }

static mtb_status prepare_dispatch(mtb_indirect_command_buffer *commands, size_t index, mtb_indirect_command_type type,
                                   mtb_size grid, mtb_size unit, mtb_size group, mtb_error **error,
                                   const char *function) {
    REQUIRE(check_settable(commands, index, error, function));
    if (!(commands->descriptor.command_types & type))
        return mtbi_fail(error, function, MTB_INVALID_STATE,
                         "command %zu: the descriptor does not name this type of command", index);
    if (commands->commands[index].is_reset_by_gpu) (void)open_command(commands, index);
    return mtbi_indirect_check_dispatch(commands, index, grid, unit, group, error, function);
}

static void note_dispatch(mtb_indirect_command_buffer *commands, size_t index, mtb_size group) {
    commands->commands[index].has_dispatch = true;
    commands->commands[index].group = group;
    mtbi_indirect_forget_residencies(commands);
}

mtb_status mtb_indirect_command_dispatch_threadgroups(mtb_indirect_command_buffer *commands, size_t index,
                                                      mtb_size threadgroups, mtb_size threads_per_threadgroup,
                                                      mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(prepare_dispatch(commands, index, MTB_INDIRECT_DISPATCH_THREADGROUPS, threadgroups, threads_per_threadgroup,
                             threads_per_threadgroup, error, __func__));
    [open_command(commands, index) concurrentDispatchThreadgroups:metal_size(threadgroups)
                                            threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    note_dispatch(commands, index, threads_per_threadgroup);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_indirect_command_dispatch_threads(mtb_indirect_command_buffer *commands, size_t index, mtb_size threads,
                                                 mtb_size threads_per_threadgroup, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(prepare_dispatch(commands, index, MTB_INDIRECT_DISPATCH_THREADS, threads, (mtb_size){1, 1, 1},
                             threads_per_threadgroup, error, __func__));
    REQUIRE(mtbi_check_nonuniform(commands->device, error, __func__));
    [open_command(commands, index) concurrentDispatchThreads:metal_size(threads)
                                       threadsPerThreadgroup:metal_size(threads_per_threadgroup)];
    note_dispatch(commands, index, threads_per_threadgroup);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_indirect_command_set_barrier(mtb_indirect_command_buffer *commands, size_t index, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_command(commands, index, error, __func__));
    /* Nothing else changes: the reset by the GPU may never run. */
    [[commands->metal indirectComputeCommandAtIndex:index] setBarrier];
    commands->commands[index].barrier_after_reset = true;
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_indirect_command_clear_barrier(mtb_indirect_command_buffer *commands, size_t index, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_command(commands, index, error, __func__));
    [[commands->metal indirectComputeCommandAtIndex:index] clearBarrier];
    commands->commands[index].barrier_after_reset = false;
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_indirect_command_buffer_reset(mtb_indirect_command_buffer *commands, size_t first, size_t count,
                                             mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(commands));
    REQUIRE(mtbi_indirect_check_range(commands, first, count, error, __func__));
    if (count == 0) return MTB_OK;
    [commands->metal resetWithRange:NSMakeRange(first, count)];
    mtbi_indirect_forget(commands, first, count);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
