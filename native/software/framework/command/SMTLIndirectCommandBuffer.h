/* Indirect command buffers: launches that are encoded once, apart from any command buffer, and executed by many. */
#ifndef SMTL_INDIRECT_COMMAND_BUFFER_H
#define SMTL_INDIRECT_COMMAND_BUFFER_H

#include "engine/engine.h"
#import "framework/library/SMTLComputePipeline.h"
#import "framework/memory/SMTLResource.h"
#import <Metal/MTLIndirectCommandBuffer.h>

@class SMTLBuffer;

/* What a command does, as the CPU or a kernel has encoded it. All zero: nothing. */
typedef struct {
    uint32_t launches;
    uint32_t barrier;
    uint64_t pipeline; /* its handle; 0: none is set */
    uint64_t addresses[SMTL_MAX_BUFFER_ARGUMENTS]; /* 0: no buffer is set */
    size_t lengths[SMTL_MAX_BUFFER_ARGUMENTS]; /* from the address to the end of its buffer */
    uint32_t threadgroup_lengths[SMTL_MAX_BUFFER_ARGUMENTS];
    uint32_t threads_per_grid[3];
    uint32_t threads_per_threadgroup[3];
} smtl_command_code;

/* What the CPU names in a command is retained until the CPU or a blit replaces it, so that a forgotten useResource:
 * cannot make the process crash. What a kernel names is not: a kernel cannot keep an object alive. */
typedef struct {
    smtl_command_code code;
    SMTLComputePipeline *pipeline;
    SMTLBuffer *buffers[SMTL_MAX_BUFFER_ARGUMENTS];
} smtl_indirect_command;

@interface SMTLIndirectCommandBuffer : SMTLResource <MTLIndirectCommandBuffer> {
@public
    NSUInteger _count;
    smtl_indirect_command *_commands;
    MTLIndirectCommandType _types;
    BOOL _inheritsPipeline;
    BOOL _inheritsBuffers;
    NSUInteger _maxBuffers;
    NSUInteger _maxThreadgroupMemories;
    uint64_t _retained_by;
    uint64_t _handle; /* by which kernels name it */
}
/* nil if memory runs out or a failure is injected. */
- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLIndirectCommandBufferDescriptor *)descriptor
                         count:(NSUInteger)count
                       options:(MTLResourceOptions)options;
/* On the GPU's side. */
- (void)resetCommands:(NSRange)range;
- (void)copyCommands:(NSRange)range from:(SMTLIndirectCommandBuffer *)source to:(NSUInteger)index;
@end

/* Raises for nil, for another device's and for commands beyond the end. */
SMTLIndirectCommandBuffer *SMTLCheckIndirectCommands(const char *where, id<MTLIndirectCommandBuffer> buffer,
                                                     NSRange range, SMTLDevice *device);

/* Makes a launch of the command with this pipeline, which may be nil; if the buffer inherits buffers, on top of
 * `bindings`, which are the encoder's. Returns NULL, or what is wrong with the command. */
const char *SMTLPrepareIndirectCommand(const SMTLIndirectCommandBuffer *buffer, const smtl_command_code *command,
                                       const SMTLComputePipeline *pipeline, const smtl_launch *bindings,
                                       smtl_launch *launch);

#endif
