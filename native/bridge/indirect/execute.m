/* Encoders that execute, reset and optimise indirect commands, and dispatches whose size the GPU reads. */
#import "core/checks.h"
#import "core/guard.h"
#import "indirect/indirect.h"

/* What indirect arguments are aligned to. */
static const size_t argument_unit = 4;

static id<MTLComputeCommandEncoder> metal_of(const mtb_compute_encoder *encoder) {
    return (id<MTLComputeCommandEncoder>)encoder->base.metal;
}

static mtb_status check_commands(const mtbi_encoder *encoder, const mtb_indirect_command_buffer *commands,
                                 mtb_error **error, const char *function) {
    REQUIRE(mtbi_encoder_check(encoder, error, function));
    REQUIRE(mtbi_check_given(commands, "commands", error, function));
    return mtbi_check_device(encoder->command_buffer->queue->device, commands->device, "indirect command buffer", error,
                             function);
}

/* The command buffer keeps the commands, and they keep what they use. */
static mtb_status keep(const mtbi_encoder *encoder, mtb_indirect_command_buffer *commands, mtb_error **error,
                       const char *function) {
    return mtbi_references_add(&encoder->command_buffer->buffers, &commands->handle, error, function);
}

static mtb_status check_arguments(const mtb_compute_encoder *encoder, const mtb_indirect_command_buffer *commands,
                                  size_t index, const mtb_pipeline *pipeline, mtb_error **error, const char *function) {
    for (size_t i = 0; i < pipeline->argument_count; i++) {
        const mtb_argument *argument = &pipeline->arguments[i];
        bool is_inherited = commands->descriptor.inherits_buffers && argument->kind != MTB_ARGUMENT_THREADGROUP_MEMORY;
        mtbi_bound bound = is_inherited ? mtbi_compute_encoder_bound(encoder, argument)
                                        : mtbi_indirect_bound(commands, index, argument);
        REQUIRE(mtbi_check_argument(pipeline, argument, bound, error, function));
    }
    size_t memory = mtbi_indirect_threadgroup_memory(commands, index);
    return mtbi_check_threadgroup_memory(pipeline, memory, error, function);
}

/* Only now is it known what the commands inherit. */
static mtb_status check_inherited(const mtb_compute_encoder *encoder, const mtb_indirect_command_buffer *commands,
                                  size_t first, size_t count, mtb_error **error, const char *function) {
    const bool inherits_pipeline = commands->descriptor.inherits_pipeline;
    if (inherits_pipeline && !encoder->pipeline)
        return mtbi_fail(error, function, MTB_INVALID_STATE,
                         "the commands inherit the encoder's pipeline, but no pipeline is set");
    if (inherits_pipeline && !encoder->pipeline->supports_indirect_commands)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                         "the commands cannot inherit the pipeline of `%s`: make it with "
                         "mtb_pipeline_create_for_indirect_commands",
                         encoder->pipeline->name);
    for (size_t index = first; index < first + count; index++) {
        const mtbi_indirect_command *command = &commands->commands[index];
        if (!command->has_dispatch) continue;
        const mtb_pipeline *pipeline = inherits_pipeline ? encoder->pipeline : command->pipeline;
        REQUIRE(mtbi_check_threadgroup(pipeline, command->group, error, function));
        REQUIRE(check_arguments(encoder, commands, index, pipeline, error, function));
    }
    return MTB_OK;
}

/* All but the execution itself. */
static mtb_status prepare(mtb_compute_encoder *encoder, mtb_indirect_command_buffer *commands, size_t first,
                          size_t count, mtb_error **error, const char *function) {
    if (commands->descriptor.inherits_pipeline || commands->descriptor.inherits_buffers) {
        REQUIRE(check_inherited(encoder, commands, first, count, error, function));
        REQUIRE(mtbi_compute_encoder_send_settings(encoder, error, function));
    } else {
        REQUIRE(mtbi_compute_encoder_flush(encoder, error, function));
    }
    const mtbi_indirect_residency *residency = mtbi_indirect_find_residency(commands, first, count, error, function);
    if (!residency) return MTB_OUT_OF_MEMORY;
    REQUIRE(keep(ENCODER_BASE(encoder), commands, error, function));
    if (residency->reads > 0)
        [metal_of(encoder) useResources:residency->resources count:residency->reads usage:MTLResourceUsageRead];
    if (residency->writes > 0)
        [metal_of(encoder) useResources:residency->resources + residency->reads count:residency->writes
                                  usage:MTLResourceUsageRead | MTLResourceUsageWrite];
    return MTB_OK;
}

mtb_status mtb_compute_encoder_execute_commands(mtb_compute_encoder *encoder, mtb_indirect_command_buffer *commands,
                                                size_t first, size_t count, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_commands(ENCODER_BASE(encoder), commands, error, __func__));
    REQUIRE(mtbi_indirect_check_range(commands, first, count, error, __func__));
    if (count == 0) return MTB_OK;
    REQUIRE(prepare(encoder, commands, first, count, error, __func__));
    /* Metal does not say that the encoder keeps what is set while commands with other settings run. */
    mtbi_compute_encoder_resend_settings(encoder);
    [metal_of(encoder) executeCommandsInBuffer:commands->metal withRange:NSMakeRange(first, count)];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_use_commands(mtb_compute_encoder *encoder, mtb_indirect_command_buffer *commands,
                                            mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_commands(ENCODER_BASE(encoder), commands, error, __func__));
    REQUIRE(mtbi_compute_encoder_flush(encoder, error, __func__));
    REQUIRE(keep(ENCODER_BASE(encoder), commands, error, __func__));
    [metal_of(encoder) useResource:commands->metal usage:MTLResourceUsageRead | MTLResourceUsageWrite];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

/* `size` bytes of arguments that the GPU reads. */
static mtb_status check_argument_buffer(const mtb_compute_encoder *encoder, mtb_buffer *buffer, size_t offset,
                                        size_t size, mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_given(buffer, "buffer", error, function));
    REQUIRE(mtbi_check_device(encoder->base.command_buffer->queue->device, buffer->device, "buffer", error, function));
    REQUIRE(mtbi_check_multiple(offset, argument_unit, "offset", error, function));
    REQUIRE(mtbi_check_range(offset, size, buffer->length, "buffer", error, function));
    return mtbi_command_buffer_keep(encoder->base.command_buffer, buffer, error, function);
}

mtb_status mtb_compute_encoder_execute_commands_indirect(mtb_compute_encoder *encoder,
                                                         mtb_indirect_command_buffer *commands, mtb_buffer *buffer,
                                                         size_t offset, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_commands(ENCODER_BASE(encoder), commands, error, __func__));
    REQUIRE(check_argument_buffer(encoder, buffer, offset, sizeof(MTLIndirectCommandBufferExecutionRange), error,
                                  __func__));
    REQUIRE(prepare(encoder, commands, 0, commands->count, error, __func__));
    mtbi_compute_encoder_resend_settings(encoder);
    [metal_of(encoder) executeCommandsInBuffer:commands->metal indirectBuffer:buffer->metal
                          indirectBufferOffset:offset];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_compute_encoder_dispatch_threadgroups_indirect(mtb_compute_encoder *encoder, mtb_buffer *buffer,
                                                              size_t offset, mtb_size threads_per_threadgroup,
                                                              mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(check_argument_buffer(encoder, buffer, offset, sizeof(MTLDispatchThreadgroupsIndirectArguments), error,
                                  __func__));
    if (mtbi_is_empty(threads_per_threadgroup)) return FAIL(error, MTB_INVALID_ARGUMENT, "a threadgroup of no threads");
    REQUIRE(mtbi_compute_encoder_check_launch(encoder, threads_per_threadgroup, error, __func__));
    REQUIRE(mtbi_compute_encoder_send_settings(encoder, error, __func__));
    const mtb_size group = threads_per_threadgroup;
    [metal_of(encoder) dispatchThreadgroupsWithIndirectBuffer:buffer->metal indirectBufferOffset:offset
                                        threadsPerThreadgroup:MTLSizeMake(group.width, group.height, group.depth)];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

static mtb_status check_blit(mtb_blit_encoder *encoder, mtb_indirect_command_buffer *commands, size_t first,
                             size_t count, mtb_error **error, const char *function) {
    REQUIRE(check_commands(ENCODER_BASE(encoder), commands, error, function));
    return mtbi_indirect_check_range(commands, first, count, error, function);
}

mtb_status mtb_blit_encoder_reset_commands(mtb_blit_encoder *encoder, mtb_indirect_command_buffer *commands,
                                           size_t first, size_t count, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_blit(encoder, commands, first, count, error, __func__));
    if (count == 0) return MTB_OK;
    REQUIRE(keep(ENCODER_BASE(encoder), commands, error, __func__));
    for (size_t i = first; i < first + count; i++) {
        commands->commands[i].is_reset_by_gpu = true;
        commands->commands[i].barrier_after_reset = false;
    }
    [(id<MTLBlitCommandEncoder>)ENCODER_BASE(encoder)->metal resetCommandsInBuffer:commands->metal
                                                                         withRange:NSMakeRange(first, count)];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_blit_encoder_optimize_commands(mtb_blit_encoder *encoder, mtb_indirect_command_buffer *commands,
                                              size_t first, size_t count, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_blit(encoder, commands, first, count, error, __func__));
    if (count == 0) return MTB_OK;
    REQUIRE(keep(ENCODER_BASE(encoder), commands, error, __func__));
    [(id<MTLBlitCommandEncoder>)ENCODER_BASE(encoder)->metal optimizeIndirectCommandBuffer:commands->metal
                                                                                 withRange:NSMakeRange(first, count)];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
