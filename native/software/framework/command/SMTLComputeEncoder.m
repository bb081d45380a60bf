#import "SMTLComputeEncoder.h"

#import "SMTLIndirectCommandBuffer.h"
#import "SMTLLaunchCheck.h"
#import "framework/library/SMTLComputePipeline.h"
#import "framework/library/SMTLVisibleFunctionTable.h"
#import "framework/memory/SMTLBuffer.h"
#import "support/SMTLError.h"
#import <Metal/MTLHeap.h>
#include "support/settings.h"
#include <string.h>

#define MAX_INLINE_BYTES 4096u
#define MAX_REASON 1000u

@implementation SMTLComputeEncoder

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_COMPUTE_ENCODER;
}

- (void)setDispatchType:(MTLDispatchType)dispatchType {
    _dispatchType = dispatchType;
}

- (MTLDispatchType)dispatchType {
    return _dispatchType;
}

/* --- Bindings ----------------------------------------------------------------------------------------------------- */

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    const char *where = "-[MTLComputeCommandEncoder setComputePipelineState:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTL_REQUIRE(state != nil, where, @"the pipeline must not be nil");
    SMTLComputePipeline *pipeline = (SMTLComputePipeline *)state;
    SMTL_REQUIRE(pipeline->_device == _device, where, @"the pipeline belongs to another device");
    smtl_set_pipeline *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_SET_PIPELINE, 0, sizeof *command);
    command->pipeline = pipeline;
    SMTLRetainOnce(_buffer, pipeline, &pipeline->_retained_by);
    _pipeline = pipeline;
}

- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
    const char *where = "-[MTLComputeCommandEncoder setBytes:length:atIndex:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLRequireArgumentIndex(where, index);
    SMTL_REQUIRE(bytes != NULL && length > 0, where, @"bytes must not be NULL, and length must not be 0");
    SMTL_REQUIRE(length <= MAX_INLINE_BYTES, where, @"length(%lu) must be <= %u", (unsigned long)length,
                 MAX_INLINE_BYTES);
    smtl_set_bytes *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_SET_BYTES, (uint32_t)index, sizeof *command + length);
    command->length = length;
    memcpy(command->bytes, bytes, length);
    _buffers[index] = nil;
    _lengths[index] = length;
}

static SMTLBuffer *check_binding(SMTLComputeEncoder *encoder, id<MTLBuffer> buffer, NSUInteger offset, NSUInteger index,
                                 const char *where) {
    SMTL_REQUIRE_ENCODING(encoder, where);
    SMTLRequireArgumentIndex(where, index);
    if (buffer == nil) return nil;
    SMTLBuffer *bound = SMTLCheckBuffer(where, buffer, encoder->_device);
    SMTL_REQUIRE(offset < bound->_length, where, @"offset(%lu) must be < [buffer length](%lu)", (unsigned long)offset,
                 (unsigned long)bound->_length);
    return bound;
}

/* A nil buffer takes the binding away. */
static void set_buffer(SMTLComputeEncoder *encoder, id<MTLBuffer> buffer, NSUInteger offset, NSUInteger index,
                       const char *where) {
    SMTLBuffer *bound = check_binding(encoder, buffer, offset, index, where);
    smtl_set_buffer *command =
        smtl_stream_append(&encoder->_buffer->_stream, SMTL_OP_SET_BUFFER, (uint32_t)index, sizeof *command);
    command->address = bound == nil ? NULL : bound->_device_bytes + offset;
    command->length = bound == nil ? 0 : bound->_length - offset;
    encoder->_buffers[index] = bound;
    encoder->_lengths[index] = command->length;
    if (bound != nil) SMTLRetainOnce(encoder->_buffer, bound, &bound->_retained_by);
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    set_buffer(self, buffer, offset, index, "-[MTLComputeCommandEncoder setBuffer:offset:atIndex:]");
}

- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
    const char *where = "-[MTLComputeCommandEncoder setBufferOffset:atIndex:]";
    SMTLRequireArgumentIndex(where, index);
    SMTL_REQUIRE(_buffers[index] != nil, where, @"no buffer is bound at index %lu", (unsigned long)index);
    set_buffer(self, _buffers[index], offset, index, where);
}

- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
    const char *where = "-[MTLComputeCommandEncoder setBuffers:offsets:withRange:]";
    for (NSUInteger i = 0; i < range.length; i++)
        check_binding(self, buffers[i], offsets[i], range.location + i, where);
    for (NSUInteger i = 0; i < range.length; i++) set_buffer(self, buffers[i], offsets[i], range.location + i, where);
}

- (void)setVisibleFunctionTable:(id<MTLVisibleFunctionTable>)table
                  atBufferIndex:(NSUInteger)index
                          where:(const char *)where {
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLRequireArgumentIndex(where, index);
    SMTLVisibleFunctionTable *own = SMTLCheckFunctionTable(where, table, _device);
    smtl_set_buffer *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_SET_BUFFER, (uint32_t)index, sizeof *command);
    command->address = own == nil ? NULL : (void *)own->_table;
    command->length = own == nil ? 0 : SMTL_UNKNOWN_LENGTH;
    _buffers[index] = nil;
    _lengths[index] = command->length;
    if (own != nil) SMTLRetainOnce(_buffer, own, &own->_retained_by);
}

- (void)setVisibleFunctionTable:(id<MTLVisibleFunctionTable>)visibleFunctionTable
                  atBufferIndex:(NSUInteger)bufferIndex {
    [self setVisibleFunctionTable:visibleFunctionTable atBufferIndex:bufferIndex
                            where:"-[MTLComputeCommandEncoder setVisibleFunctionTable:atBufferIndex:]"];
}

- (void)setVisibleFunctionTables:(const id<MTLVisibleFunctionTable>[])visibleFunctionTables
                 withBufferRange:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++)
        [self setVisibleFunctionTable:visibleFunctionTables[i] atBufferIndex:range.location + i
                                where:"-[MTLComputeCommandEncoder setVisibleFunctionTables:withBufferRange:]"];
}

- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
    const char *where = "-[MTLComputeCommandEncoder setThreadgroupMemoryLength:atIndex:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLRequireArgumentIndex(where, index);
    SMTLRequireThreadgroupMemory(where, length);
    smtl_set_threadgroup_memory *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_SET_THREADGROUP_MEMORY, (uint32_t)index, sizeof *command);
    command->length = (uint32_t)length;
    _threadgroupLengths[index] = (uint32_t)length;
}

/* --- Launches --------------------------------------------------------------------------------------------------- */

/* A launch that cannot run ends the command buffer when it is executed, as in a Metal without checks. Other exceptions
 * go on to the caller, and with Metal's own checks this one does too. For an indirect launch `groups` are the
 * threadgroups that there will be. */
static void record_failure(SMTLComputeEncoder *encoder, NSException *problem, const uint32_t *groups) {
    if (![[problem name] isEqual:SMTLValidationException] || smtl_settings_get()->debug_layer) @throw problem;
    const char *reason = [[problem reason] UTF8String];
    const size_t length = strnlen(reason, MAX_REASON);
    smtl_record_fail *command =
        smtl_stream_append(&encoder->_buffer->_stream, SMTL_OP_FAIL, 0, sizeof *command + length + 1);
    command->threadgroups_per_grid = groups;
    memcpy(command->reason, reason, length);
    command->reason[length] = '\0';
}

/* Checks a launch and stores its threadgroup size; false if its failure is recorded, and if it has no threads:
 * it does nothing then, whatever it lacks. */
static bool prepare(SMTLComputeEncoder *encoder, const char *where, MTLSize count, MTLSize group,
                    const uint32_t *groups, uint32_t stored[3]) {
    SMTL_REQUIRE_ENCODING(encoder, where);
    if ((SMTLIsEmpty(count) || SMTLIsEmpty(group)) && !smtl_settings_get()->debug_layer) return false;
    @try {
        SMTLRequireLaunch(where, encoder->_pipeline, group, encoder->_lengths, encoder->_threadgroupLengths);
    } @catch (NSException *problem) {
        record_failure(encoder, problem, groups);
        return false;
    }
    SMTLStoreSize(group, stored);
    return true;
}

/* Records a launch of groups.x * scale.x by ... threads. */
static void record_launch(SMTLComputeEncoder *encoder, const char *where, MTLSize count, MTLSize scale, MTLSize group) {
    uint32_t threads_per_threadgroup[3];
    uint32_t threads_per_grid[3];
    if (!prepare(encoder, where, count, group, NULL, threads_per_threadgroup)) return;
    @try {
        SMTLStoreGrid(where, count, scale, threads_per_grid);
    } @catch (NSException *problem) {
        record_failure(encoder, problem, NULL);
        return;
    }
    smtl_record_launch *command = smtl_stream_append(&encoder->_buffer->_stream, SMTL_OP_LAUNCH, 0, sizeof *command);
    memcpy(command->threads_per_grid, threads_per_grid, sizeof threads_per_grid);
    memcpy(command->threads_per_threadgroup, threads_per_threadgroup, sizeof threads_per_threadgroup);
}

- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
    record_launch(self, "-[MTLComputeCommandEncoder dispatchThreadgroups:threadsPerThreadgroup:]", threadgroupsPerGrid,
                  threadsPerThreadgroup, threadsPerThreadgroup);
}

- (void)dispatchThreads:(MTLSize)threadsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
    record_launch(self, "-[MTLComputeCommandEncoder dispatchThreads:threadsPerThreadgroup:]", threadsPerGrid,
                  MTLSizeMake(1, 1, 1), threadsPerThreadgroup);
}

- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)indirectBuffer
                          indirectBufferOffset:(NSUInteger)indirectBufferOffset
                         threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
    const char *where = "-[MTLComputeCommandEncoder dispatchThreadgroupsWithIndirectBuffer:...]";
    SMTLBuffer *buffer = SMTLCheckBuffer(where, indirectBuffer, _device);
    SMTLRequireIndirectArguments(where, buffer, indirectBufferOffset, sizeof(MTLDispatchThreadgroupsIndirectArguments));
    const uint32_t *groups = (const uint32_t *)(buffer->_device_bytes + indirectBufferOffset);
    uint32_t threads_per_threadgroup[3];
    const MTLSize unknown = MTLSizeMake(1, 1, 1);
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLRetainOnce(_buffer, buffer, &buffer->_retained_by);
    if (!prepare(self, where, unknown, threadsPerThreadgroup, groups, threads_per_threadgroup)) return;
    smtl_record_launch_indirect *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_LAUNCH_INDIRECT, 0, sizeof *command);
    command->threadgroups_per_grid = groups;
    memcpy(command->threads_per_threadgroup, threads_per_threadgroup, sizeof threads_per_threadgroup);
}

/* --- Indirect command buffers and counters ------------------------------------------------------------------------ */

- (SMTLIndirectCommandBuffer *)checkIndirect:(id<MTLIndirectCommandBuffer>)commands
                                       range:(NSRange)range
                                       where:(const char *)where {
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLIndirectCommandBuffer *own = SMTLCheckIndirectCommands(where, commands, range, _device);
    SMTL_REQUIRE(!own->_inheritsPipeline || _pipeline != nil, where,
                 @"the commands inherit the encoder's compute pipeline state, but none is set");
    SMTL_REQUIRE(!own->_inheritsPipeline || [_pipeline supportIndirectCommandBuffers], where,
                 @"the pipeline was not made with supportIndirectCommandBuffers");
    return own;
}

- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandBuffer withRange:(NSRange)executionRange {
    const char *where = "-[MTLComputeCommandEncoder executeCommandsInBuffer:withRange:]";
    SMTLIndirectCommandBuffer *own = [self checkIndirect:indirectCommandBuffer range:executionRange where:where];
    SMTLRetainOnce(_buffer, own, &own->_retained_by);
    smtl_record_execute *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_EXECUTE, 0, sizeof *command);
    command->commands = own;
    command->location = executionRange.location;
    command->length = executionRange.length;
    command->range = NULL;
}

- (void)executeCommandsInBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandbuffer
                 indirectBuffer:(id<MTLBuffer>)indirectRangeBuffer
           indirectBufferOffset:(NSUInteger)indirectBufferOffset {
    const char *where = "-[MTLComputeCommandEncoder executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:]";
    SMTLIndirectCommandBuffer *own = [self checkIndirect:indirectCommandbuffer range:NSMakeRange(0, 0) where:where];
    SMTLBuffer *range = SMTLCheckBuffer(where, indirectRangeBuffer, _device);
    SMTLRequireIndirectArguments(where, range, indirectBufferOffset, sizeof(MTLIndirectCommandBufferExecutionRange));
    SMTLRetainOnce(_buffer, own, &own->_retained_by);
    SMTLRetainOnce(_buffer, range, &range->_retained_by);
    smtl_record_execute *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_EXECUTE, 0, sizeof *command);
    command->commands = own;
    command->range = (const uint32_t *)(range->_device_bytes + indirectBufferOffset);
}

- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)sampleBuffer
                 atSampleIndex:(NSUInteger)sampleIndex
                   withBarrier:(BOOL)barrier {
    SMTLRecordSample(self, "-[MTLComputeCommandEncoder sampleCountersInBuffer:atSampleIndex:withBarrier:]",
                     sampleBuffer, sampleIndex, barrier);
}

/* --- Order and residency ------------------------------------------------------------------------------------------ */

- (void)updateFence:(id<MTLFence>)fence {
    SMTLEncodeFence("-[MTLComputeCommandEncoder updateFence:]", fence, self, SMTL_OP_UPDATE_FENCE);
}

- (void)waitForFence:(id<MTLFence>)fence {
    SMTLEncodeFence("-[MTLComputeCommandEncoder waitForFence:]", fence, self, SMTL_OP_WAIT_FENCE);
}

- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
    const char *where = "-[MTLComputeCommandEncoder memoryBarrierWithScope:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTL_REQUIRE((scope & ~(NSUInteger)(MTLBarrierScopeBuffers | MTLBarrierScopeTextures)) == 0, where,
                 @"a compute encoder has no barrier scope 0x%lx", (unsigned long)scope);
    [self recordBarrier];
}

- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count {
    [self requireResources:resources count:count where:"-[MTLComputeCommandEncoder memoryBarrierWithResources:count:]"];
    [self recordBarrier];
}

/* The barrier is for all resources, since nobody knows which ones a launch touches. */
- (void)recordBarrier {
    if (_dispatchType == MTLDispatchTypeConcurrent)
        smtl_stream_append(&_buffer->_stream, SMTL_OP_BARRIER, 0, sizeof(smtl_record));
}

- (void)requireResources:(const id<MTLResource>[])resources count:(NSUInteger)count where:(const char *)where {
    SMTL_REQUIRE_ENCODING(self, where);
    for (NSUInteger i = 0; i < count; i++) {
        SMTL_REQUIRE(resources[i] != nil, where, @"resource %lu must not be nil", (unsigned long)i);
        SMTL_REQUIRE([resources[i] device] == _device, where, @"resource %lu belongs to another device",
                     (unsigned long)i);
    }
}

- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
    [self useResources:&resource count:1 usage:usage];
}

- (void)useResources:(const id<MTLResource>[])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage {
    (void)usage;
    [self requireResources:resources count:count where:"-[MTLComputeCommandEncoder useResources:count:usage:]"];
    for (NSUInteger i = 0; i < count; i++) {
        if ([resources[i] isKindOfClass:[SMTLBuffer class]]) {
            SMTLBuffer *buffer = (SMTLBuffer *)resources[i];
            SMTLRetainOnce(_buffer, buffer, &buffer->_retained_by);
        } else {
            SMTLRetainForCommandBuffer(_buffer, resources[i]);
        }
    }
}

- (void)useHeap:(id<MTLHeap>)heap {
    [self useHeaps:&heap count:1];
}

- (void)useHeaps:(const id<MTLHeap>[])heaps count:(NSUInteger)count {
    const char *where = "-[MTLComputeCommandEncoder useHeaps:count:]";
    SMTL_REQUIRE_ENCODING(self, where);
    for (NSUInteger i = 0; i < count; i++) {
        SMTL_REQUIRE(heaps[i] != nil, where, @"heap %lu must not be nil", (unsigned long)i);
        SMTL_REQUIRE([heaps[i] device] == _device, where, @"heap %lu belongs to another device", (unsigned long)i);
    }
    for (NSUInteger i = 0; i < count; i++) SMTLRetainForCommandBuffer(_buffer, heaps[i]);
}

@end
