/* Work whose size or whose commands the GPU takes from memory: indirect dispatches, and indirect command buffers for
 * compute, which the CPU encodes once and many command buffers execute.
 *
 * An indirect command buffer has a fixed number of commands, each a dispatch with a pipeline, buffers and threadgroup
 * memory of its own. A new command does nothing. Commands that one call executes may overlap and run in any order; a
 * command with a barrier waits for those before it.
 *
 * Everything is checked when a command is encoded; what commands inherit is checked when they are executed.
 *
 * Kernels encode commands too (command_buffer and compute_command of the shading language): they find the indirect
 * command buffer and its pipelines by their resource ids in a buffer. Nobody checks what a kernel encodes, and nothing
 * keeps it alive: until it has executed, the caller keeps its pipelines and buffers, and calls
 * mtb_compute_encoder_use_buffer for the buffers on the encoder that executes it. The CPU resets a command that a
 * kernel has encoded before it encodes the command itself.
 *
 * Threads
 *   One thread at a time may use an indirect command buffer; any thread may retain and release it. It keeps the
 *   pipelines and buffers of its commands alive, and a command buffer that executes it keeps it until it has completed.
 *   The caller changes no command that a command buffer executes, from the call that encodes that until the command
 *   buffer has completed.
 */
#ifndef METAL_BRIDGE_INDIRECT_H
#define METAL_BRIDGE_INDIRECT_H

#include "metal_bridge.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mtb_indirect_command_buffer mtb_indirect_command_buffer; /* MTLIndirectCommandBuffer */

/* The most commands of an indirect command buffer: Metal's limit. */
#define MTB_MAX_INDIRECT_COMMANDS 16384u

/* MTLIndirectCommandType: bits. */
typedef enum mtb_indirect_command_type {
    MTB_INDIRECT_DISPATCH_THREADGROUPS = 32,
    MTB_INDIRECT_DISPATCH_THREADS = 64
} mtb_indirect_command_type;

/* MTLIndirectCommandBufferDescriptor. */
typedef struct mtb_indirect_descriptor {
    /* Bits of mtb_indirect_command_type, at least one. */
    uint32_t command_types;
    /* The commands have the pipeline that is set on the encoder that executes them. */
    bool inherits_pipeline;
    /* They have the encoder's buffers; but threadgroup memory is always their own. */
    bool inherits_buffers;
    /* The indices of buffers and of threadgroup memory are below these, which are MTB_MAX_BINDINGS at most. With
     * `inherits_buffers` there are no buffers. */
    size_t max_buffers;
    size_t max_threadgroup_memories;
} mtb_indirect_descriptor;

/* Whether the device executes indirect command buffers for compute; Intel's GPUs do not. */
bool mtb_device_supports_indirect_commands(const mtb_device *device);

/* mtb_pipeline_create with supportIndirectCommandBuffers. Metal refuses some kernels (MTB_COMPILE_FAILED).
 * MTB_UNSUPPORTED if the device executes no indirect command buffers. */
mtb_pipeline *mtb_pipeline_create_for_indirect_commands(mtb_function *function, mtb_error **error);
bool mtb_pipeline_supports_indirect_commands(const mtb_pipeline *pipeline);

/* newIndirectCommandBufferWithDescriptor:maxCommandCount:options:, in memory that CPU and GPU share. MTB_OUT_OF_RANGE
 * over MTB_MAX_INDIRECT_COMMANDS commands and over MTB_MAX_BINDINGS buffers, MTB_INVALID_ARGUMENT for no commands and
 * for no or unknown types, MTB_UNSUPPORTED if the device does not execute them. */
mtb_indirect_command_buffer *mtb_indirect_command_buffer_create(mtb_device *device,
                                                                const mtb_indirect_descriptor *descriptor, size_t count,
                                                                mtb_error **error);
mtb_indirect_command_buffer *mtb_indirect_command_buffer_retain(mtb_indirect_command_buffer *commands);
void mtb_indirect_command_buffer_release(mtb_indirect_command_buffer *commands);
/* The number of commands. */
size_t mtb_indirect_command_buffer_size(const mtb_indirect_command_buffer *commands);

/* What a kernel finds in a buffer as a command_buffer (gpuResourceID, macOS 13); zero if the system does not tell. */
uint64_t mtb_indirect_command_buffer_gpu_resource_id(const mtb_indirect_command_buffer *commands);
/* The same of a compute_pipeline_state. Kernels set only pipelines that were made for indirect commands. */
uint64_t mtb_pipeline_gpu_resource_id(const mtb_pipeline *pipeline);

/* The calls on one command: MTB_OUT_OF_RANGE for one past the end. A command that has a dispatch takes no other
 * pipeline, buffer, threadgroup memory or dispatch (MTB_INVALID_STATE) until it is reset. */

/* setComputePipelineState:, of a pipeline made for indirect commands (MTB_INVALID_ARGUMENT otherwise).
 * MTB_INVALID_STATE if the pipeline is inherited. */
mtb_status mtb_indirect_command_set_pipeline(mtb_indirect_command_buffer *commands, size_t index,
                                             mtb_pipeline *pipeline, mtb_error **error);
/* setKernelBuffer:offset:atIndex:. The offset must be inside the buffer. MTB_INVALID_STATE if buffers are inherited. */
mtb_status mtb_indirect_command_set_buffer(mtb_indirect_command_buffer *commands, size_t index, mtb_buffer *buffer,
                                           size_t offset, size_t binding, mtb_error **error);
/* setThreadgroupMemoryLength:atIndex:, a multiple of 16 bytes; zero removes it. */
mtb_status mtb_indirect_command_set_threadgroup_memory(mtb_indirect_command_buffer *commands, size_t index,
                                                       size_t length, size_t binding, mtb_error **error);
/* concurrentDispatchThreadgroups:threadsPerThreadgroup:. Both sizes are at least 1 in each dimension: a command that is
 * to do nothing is reset. MTB_INVALID_STATE without a pipeline and for a type that the descriptor does not name,
 * MTB_MISSING_ARGUMENT and what else mtb_compute_encoder_dispatch_threadgroups says. */
mtb_status mtb_indirect_command_dispatch_threadgroups(mtb_indirect_command_buffer *commands, size_t index,
                                                      mtb_size threadgroups, mtb_size threads_per_threadgroup,
                                                      mtb_error **error);
/* concurrentDispatchThreads:threadsPerThreadgroup:, likewise. */
mtb_status mtb_indirect_command_dispatch_threads(mtb_indirect_command_buffer *commands, size_t index, mtb_size threads,
                                                 mtb_size threads_per_threadgroup, mtb_error **error);
/* setBarrier: the command begins when all commands before it, of the same call that executes them, have ended. */
mtb_status mtb_indirect_command_set_barrier(mtb_indirect_command_buffer *commands, size_t index, mtb_error **error);
/* clearBarrier. */
mtb_status mtb_indirect_command_clear_barrier(mtb_indirect_command_buffer *commands, size_t index, mtb_error **error);
/* resetWithRange: these commands do nothing, and have nothing set. MTB_OUT_OF_RANGE past the end; no commands are
 * allowed. */
mtb_status mtb_indirect_command_buffer_reset(mtb_indirect_command_buffer *commands, size_t first, size_t count,
                                             mtb_error **error);

/* executeCommandsInBuffer:withRange:. Before that the call makes the commands' buffers resident (useResources:). No
 * commands are allowed: then the call does nothing. MTB_INVALID_STATE if the commands inherit a pipeline and none is
 * set, MTB_INVALID_ARGUMENT if the encoder's pipeline was not made for indirect commands. */
mtb_status mtb_compute_encoder_execute_commands(mtb_compute_encoder *encoder, mtb_indirect_command_buffer *commands,
                                                size_t first, size_t count, mtb_error **error);
/* executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:. When the GPU comes to it, the eight bytes at `offset`,
 * a multiple of 4, are the first command and the number of commands, as two uint32_t. Nobody checks the range: it must
 * be inside the indirect command buffer. */
mtb_status mtb_compute_encoder_execute_commands_indirect(mtb_compute_encoder *encoder,
                                                         mtb_indirect_command_buffer *commands, mtb_buffer *buffer,
                                                         size_t offset, mtb_error **error);
/* useResource:usage:, for kernels of this encoder that encode commands. Encoders after it execute them. */
mtb_status mtb_compute_encoder_use_commands(mtb_compute_encoder *encoder, mtb_indirect_command_buffer *commands,
                                            mtb_error **error);
/* dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:. When the GPU comes to it, the
 * twelve bytes at `offset`, a multiple of 4, are the threadgroups in each dimension, as three uint32_t. */
mtb_status mtb_compute_encoder_dispatch_threadgroups_indirect(mtb_compute_encoder *encoder, mtb_buffer *buffer,
                                                              size_t offset, mtb_size threads_per_threadgroup,
                                                              mtb_error **error);
/* resetCommandsInBuffer:withRange: when the GPU comes to it, these commands do nothing any more. The pipelines and
 * buffers stay alive until the commands are encoded again or reset by the CPU. From this call on the CPU may encode
 * them again, which resets them first, whether the GPU has come to it or never will. Barriers do not count as encoding.
 */
mtb_status mtb_blit_encoder_reset_commands(mtb_blit_encoder *encoder, mtb_indirect_command_buffer *commands,
                                           size_t first, size_t count, mtb_error **error);
/* optimizeIndirectCommandBuffer:withRange: changes nothing but how fast the commands execute. */
mtb_status mtb_blit_encoder_optimize_commands(mtb_blit_encoder *encoder, mtb_indirect_command_buffer *commands,
                                              size_t first, size_t count, mtb_error **error);

#ifdef __cplusplus
}
#endif
#endif
