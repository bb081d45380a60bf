#import "SMTLIndirectCommand.h"

#import "SMTLLaunchCheck.h"
#import "framework/memory/SMTLBuffer.h"
#import "support/SMTLError.h"
#include "support/settings.h"

@implementation SMTLIndirectCommand

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_INDIRECT_COMMAND;
}

- (instancetype)initWithBuffer:(SMTLIndirectCommandBuffer *)buffer index:(NSUInteger)index {
    self = [super init];
    _buffer = [buffer retain];
    _command = &buffer->_commands[index];
    return self;
}

- (void)dealloc {
    [_buffer release];
    [super dealloc];
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipelineState {
    const char *where = "-[MTLIndirectComputeCommand setComputePipelineState:]";
    SMTL_REQUIRE(pipelineState != nil, where, @"the pipeline must not be nil");
    SMTLComputePipeline *pipeline = (SMTLComputePipeline *)pipelineState;
    SMTL_REQUIRE(!_buffer->_inheritsPipeline, where, @"the indirect command buffer inherits the pipeline");
    SMTL_REQUIRE(pipeline->_device == _buffer->_device, where, @"the pipeline belongs to another device");
    SMTL_REQUIRE([pipeline supportIndirectCommandBuffers], where,
                 @"the pipeline was not made with supportIndirectCommandBuffers");
    [pipeline retain];
    [_command->pipeline release];
    _command->pipeline = pipeline;
    _command->code.pipeline = pipeline->_handle;
}

- (void)setKernelBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    const char *where = "-[MTLIndirectComputeCommand setKernelBuffer:offset:atIndex:]";
    SMTL_REQUIRE(!_buffer->_inheritsBuffers, where, @"the indirect command buffer inherits the buffers");
    SMTL_REQUIRE(index < _buffer->_maxBuffers, where, @"index %lu is not below maxKernelBufferBindCount %lu",
                 (unsigned long)index, (unsigned long)_buffer->_maxBuffers);
    SMTLBuffer *bound = SMTLCheckBuffer(where, buffer, _buffer->_device);
    SMTL_REQUIRE(offset < bound->_length, where, @"offset(%lu) must be < [buffer length](%lu)", (unsigned long)offset,
                 (unsigned long)bound->_length);
    [bound retain];
    [_command->buffers[index] release];
    _command->buffers[index] = bound;
    _command->code.addresses[index] = (uintptr_t)bound->_device_bytes + offset;
    _command->code.lengths[index] = bound->_length - offset;
}

- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
    const char *where = "-[MTLIndirectComputeCommand setThreadgroupMemoryLength:atIndex:]";
    SMTL_REQUIRE(index < _buffer->_maxThreadgroupMemories, where,
                 @"index %lu is not below maxKernelThreadgroupMemoryBindCount %lu", (unsigned long)index,
                 (unsigned long)_buffer->_maxThreadgroupMemories);
    SMTLRequireThreadgroupMemory(where, length);
    _command->code.threadgroup_lengths[index] = (uint32_t)length;
}

- (void)launch:(MTLSize)count
         scale:(MTLSize)scale
         group:(MTLSize)group
          type:(MTLIndirectCommandType)type
         where:(const char *)where {
    SMTL_REQUIRE((_buffer->_types & type) != 0, where, @"the indirect command buffer is not for this type of command");
    SMTLComputePipeline *pipeline = _command->pipeline;
    /* Otherwise the command fails when it executes, if it lacks something. */
    if (smtl_settings_get()->debug_layer) {
        SMTL_REQUIRE(_buffer->_inheritsPipeline || pipeline != nil, where, @"no compute pipeline state is set");
        if (pipeline == nil)
            SMTLRequireThreadgroup(where, group, SMTL_MAX_THREADS_PER_THREADGROUP);
        else
            SMTLRequireThreadgroupOf(where, pipeline, group);
    }
    SMTLStoreGrid(where, count, scale, _command->code.threads_per_grid);
    SMTLStoreSize(group, _command->code.threads_per_threadgroup);
    _command->code.launches = 1;
}

- (void)concurrentDispatchThreadgroups:(MTLSize)threadgroupsPerGrid
                 threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
    [self launch:threadgroupsPerGrid scale:threadsPerThreadgroup group:threadsPerThreadgroup
            type:MTLIndirectCommandTypeConcurrentDispatch
           where:"-[MTLIndirectComputeCommand concurrentDispatchThreadgroups:threadsPerThreadgroup:]"];
}

- (void)concurrentDispatchThreads:(MTLSize)threadsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
    [self launch:threadsPerGrid scale:MTLSizeMake(1, 1, 1) group:threadsPerThreadgroup
            type:MTLIndirectCommandTypeConcurrentDispatchThreads
           where:"-[MTLIndirectComputeCommand concurrentDispatchThreads:threadsPerThreadgroup:]"];
}

- (void)setBarrier {
    _command->code.barrier = 1;
}

- (void)clearBarrier {
    _command->code.barrier = 0;
}

- (void)reset {
    const NSUInteger index = (NSUInteger)(_command - _buffer->_commands);
    [_buffer resetCommands:NSMakeRange(index, 1)];
}

@end
