#import "SMTLComputeEncoder.h"

#import "SMTLBuffer.h"
#import "SMTLComputePipeline.h"
#import "SMTLError.h"
#include <string.h>

#define MAX_INLINE_BYTES 4096u
#define THREADGROUP_MEMORY_UNIT 16u

static void require_index(const char *where, NSUInteger index)
{
    SMTL_REQUIRE(index < SMTL_MAX_BUFFER_ARGUMENTS, where, @"index %lu is not below %u", (unsigned long)index,
                 SMTL_MAX_BUFFER_ARGUMENTS);
}

@implementation SMTLComputeEncoder

+ (smtl_object_class)objectClass
{
    return SMTL_OBJECT_COMPUTE_ENCODER;
}

- (void)setDispatchType:(MTLDispatchType)dispatchType
{
    _dispatchType = dispatchType;
}

- (MTLDispatchType)dispatchType
{
    return _dispatchType;
}

/* --- Bindings ----------------------------------------------------------------------------------------------------- */

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state
{
    const char *where = "-[MTLComputeCommandEncoder setComputePipelineState:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTL_REQUIRE(state != nil, where, @"the pipeline must not be nil");
    SMTLComputePipeline *pipeline = (SMTLComputePipeline *)state;
    SMTL_REQUIRE(pipeline->_device == _device, where, @"the pipeline belongs to another device");
    smtl_set_kernel *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_SET_KERNEL, 0, sizeof *command);
    command->kernel = pipeline->_kernel;
    SMTLRetainOnce(_buffer, pipeline, &pipeline->_retained_by);
    _pipeline = pipeline;
}

- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index
{
    const char *where = "-[MTLComputeCommandEncoder setBytes:length:atIndex:]";
    SMTL_REQUIRE_ENCODING(self, where);
    require_index(where, index);
    SMTL_REQUIRE(bytes != NULL && length > 0, where, @"there must be bytes");
    SMTL_REQUIRE(length <= MAX_INLINE_BYTES, where, @"length(%lu) must be <= %u", (unsigned long)length,
                 MAX_INLINE_BYTES);
    smtl_set_bytes *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_SET_BYTES, (uint32_t)index, sizeof *command + length);
    command->length = length;
    memcpy(command->bytes, bytes, length);
    _buffers[index] = nil;
    _lengths[index] = length;
}

/* A nil buffer takes the binding away. */
static void set_buffer(SMTLComputeEncoder *encoder, id<MTLBuffer> buffer, NSUInteger offset, NSUInteger index,
                 const char *where)
{
    SMTL_REQUIRE_ENCODING(encoder, where);
    require_index(where, index);
    SMTLBuffer *bound = nil;
    if (buffer != nil) {
        bound = SMTLCheckBuffer(where, buffer, encoder->_device);
        SMTL_REQUIRE(offset < bound->_length, where, @"offset(%lu) must be < [buffer length](%lu)",
                     (unsigned long)offset, (unsigned long)bound->_length);
    }
    smtl_set_buffer *command =
        smtl_stream_append(&encoder->_buffer->_stream, SMTL_OP_SET_BUFFER, (uint32_t)index, sizeof *command);
    command->address = bound == nil ? NULL : bound->_device_bytes + offset;
    command->length = bound == nil ? 0 : bound->_length - offset;
    encoder->_buffers[index] = bound;
    encoder->_lengths[index] = command->length;
    if (bound != nil) {
        SMTLRetainOnce(encoder->_buffer, bound, &bound->_retained_by);
    }
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index
{
    set_buffer(self, buffer, offset, index, "-[MTLComputeCommandEncoder setBuffer:offset:atIndex:]");
}

- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index
{
    const char *where = "-[MTLComputeCommandEncoder setBufferOffset:atIndex:]";
    require_index(where, index);
    SMTL_REQUIRE(_buffers[index] != nil, where, @"no buffer is bound at index %lu", (unsigned long)index);
    set_buffer(self, _buffers[index], offset, index, where);
}

- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range
{
    for (NSUInteger i = 0; i < range.length; i++) {
        set_buffer(self, buffers[i], offsets[i], range.location + i,
             "-[MTLComputeCommandEncoder setBuffers:offsets:withRange:]");
    }
}

- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index
{
    const char *where = "-[MTLComputeCommandEncoder setThreadgroupMemoryLength:atIndex:]";
    SMTL_REQUIRE_ENCODING(self, where);
    require_index(where, index);
    SMTL_REQUIRE(length % THREADGROUP_MEMORY_UNIT == 0, where, @"length(%lu) must be a multiple of %u bytes",
                 (unsigned long)length, THREADGROUP_MEMORY_UNIT);
    SMTL_REQUIRE(length <= SMTL_MAX_THREADGROUP_MEMORY, where, @"length(%lu) must be <= %u", (unsigned long)length,
                 SMTL_MAX_THREADGROUP_MEMORY);
    smtl_set_threadgroup_memory *command = smtl_stream_append(
        &_buffer->_stream, SMTL_OP_SET_THREADGROUP_MEMORY, (uint32_t)index, sizeof *command);
    command->length = (uint32_t)length;
    _threadgroupLengths[index] = (uint32_t)length;
}

/* --- Dispatches --------------------------------------------------------------------------------------------------- */

/* Every argument that the kernel uses must be bound, and what is bound large enough for one value of its type. */
static void require_arguments(const char *where, const SMTLComputePipeline *pipeline, const size_t *lengths,
                              const uint32_t *threadgroup_lengths)
{
    size_t threadgroup_memory = pipeline->_staticMemory;
    for (size_t i = 0; i < pipeline->_argumentCount; i++) {
        const smtl_argument *argument = &pipeline->_arguments[i];
        bool buffer = argument->kind == SMTL_ARGUMENT_BUFFER;
        size_t length = buffer ? lengths[argument->index] : threadgroup_lengths[argument->index];
        threadgroup_memory += buffer ? 0 : length;
        if (length == 0 && !argument->used) {
            continue;
        }
        SMTL_REQUIRE(length > 0, where, @"missing %s binding at index %u for %s",
                     buffer ? "buffer" : "threadgroup memory", argument->index, argument->name);
        SMTL_REQUIRE(length >= argument->type_size, where,
                     @"argument %s at index %u has space for %zu bytes, but its type takes %zu", argument->name,
                     argument->index, length, argument->type_size);
    }
    SMTL_REQUIRE(threadgroup_memory <= SMTL_MAX_THREADGROUP_MEMORY, where,
                 @"%zu bytes of threadgroup memory exceed the device's %u", threadgroup_memory,
                 SMTL_MAX_THREADGROUP_MEMORY);
}

/* Checks a dispatch and stores its threadgroup size. */
static void prepare(SMTLComputeEncoder *encoder, const char *where, MTLSize group, uint32_t stored[3])
{
    SMTL_REQUIRE_ENCODING(encoder, where);
    const SMTLComputePipeline *pipeline = encoder->_pipeline;
    SMTL_REQUIRE(pipeline != nil, where, @"no compute pipeline state is set");
    NSUInteger limit = pipeline->_maxThreads;
    SMTL_REQUIRE(group.width > 0 && group.height > 0 && group.depth > 0, where,
                 @"threadsPerThreadgroup {%lu, %lu, %lu} must have no zero", (unsigned long)group.width,
                 (unsigned long)group.height, (unsigned long)group.depth);
    SMTL_REQUIRE(group.width <= limit && group.height <= limit && group.depth <= limit &&
                     group.width * group.height * group.depth <= limit,
                 where, @"threadsPerThreadgroup {%lu, %lu, %lu} has more than the pipeline's %lu threads",
                 (unsigned long)group.width, (unsigned long)group.height, (unsigned long)group.depth,
                 (unsigned long)limit);
    require_arguments(where, pipeline, encoder->_lengths, encoder->_threadgroupLengths);
    stored[0] = (uint32_t)group.width;
    stored[1] = (uint32_t)group.height;
    stored[2] = (uint32_t)group.depth;
}

/* Records a dispatch of groups.x * scale.x by ... threads. */
static void record_dispatch(SMTLComputeEncoder *encoder, const char *where, MTLSize count, MTLSize scale, MTLSize group)
{
    const NSUInteger counts[3] = {count.width, count.height, count.depth};
    const NSUInteger scales[3] = {scale.width, scale.height, scale.depth};
    uint32_t threads_per_threadgroup[3];
    uint32_t threads_per_grid[3];
    prepare(encoder, where, group, threads_per_threadgroup);
    for (int i = 0; i < 3; i++) {
        SMTL_REQUIRE(counts[i] <= UINT32_MAX / scales[i], where, @"the grid has more than %u threads in a dimension",
                     UINT32_MAX);
        threads_per_grid[i] = (uint32_t)(counts[i] * scales[i]);
    }
    smtl_record_dispatch *command =
        smtl_stream_append(&encoder->_buffer->_stream, SMTL_OP_DISPATCH, 0, sizeof *command);
    memcpy(command->threads_per_grid, threads_per_grid, sizeof threads_per_grid);
    memcpy(command->threads_per_threadgroup, threads_per_threadgroup, sizeof threads_per_threadgroup);
}

- (void)dispatchThreadgroups:(MTLSize)threadgroupsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup
{
    record_dispatch(self, "-[MTLComputeCommandEncoder dispatchThreadgroups:threadsPerThreadgroup:]", threadgroupsPerGrid,
           threadsPerThreadgroup, threadsPerThreadgroup);
}

- (void)dispatchThreads:(MTLSize)threadsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup
{
    record_dispatch(self, "-[MTLComputeCommandEncoder dispatchThreads:threadsPerThreadgroup:]", threadsPerGrid,
           MTLSizeMake(1, 1, 1), threadsPerThreadgroup);
}

- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)indirectBuffer
                          indirectBufferOffset:(NSUInteger)indirectBufferOffset
                         threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup
{
    const char *where = "-[MTLComputeCommandEncoder dispatchThreadgroupsWithIndirectBuffer:...]";
    SMTLBuffer *buffer = SMTLCheckBuffer(where, indirectBuffer, _device);
    const NSUInteger size = sizeof(MTLDispatchThreadgroupsIndirectArguments);
    SMTL_REQUIRE(indirectBufferOffset % sizeof(uint32_t) == 0, where, @"offset %lu must be a multiple of 4",
                 (unsigned long)indirectBufferOffset);
    SMTL_REQUIRE(buffer->_length >= size && indirectBufferOffset <= buffer->_length - size, where,
                 @"%lu bytes at offset %lu exceed the buffer's length %lu", (unsigned long)size,
                 (unsigned long)indirectBufferOffset, (unsigned long)buffer->_length);
    uint32_t threads_per_threadgroup[3];
    prepare(self, where, threadsPerThreadgroup, threads_per_threadgroup);
    smtl_record_dispatch_indirect *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_DISPATCH_INDIRECT, 0, sizeof *command);
    command->threadgroups_per_grid = (const uint32_t *)(buffer->_device_bytes + indirectBufferOffset);
    memcpy(command->threads_per_threadgroup, threads_per_threadgroup, sizeof threads_per_threadgroup);
    SMTLRetainOnce(_buffer, buffer, &buffer->_retained_by);
}

/* --- Order and residency ------------------------------------------------------------------------------------------ */

- (void)updateFence:(id<MTLFence>)fence
{
    SMTLCheckFence("-[MTLComputeCommandEncoder updateFence:]", fence, self);
}

- (void)waitForFence:(id<MTLFence>)fence
{
    SMTLCheckFence("-[MTLComputeCommandEncoder waitForFence:]", fence, self);
}

- (void)memoryBarrierWithScope:(MTLBarrierScope)scope
{
    const char *where = "-[MTLComputeCommandEncoder memoryBarrierWithScope:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTL_REQUIRE((scope & ~(NSUInteger)(MTLBarrierScopeBuffers | MTLBarrierScopeTextures)) == 0, where,
                 @"scope 0x%lx is not one of a compute encoder's", (unsigned long)scope);
    [self recordBarrier];
}

- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count
{
    [self requireResources:resources count:count where:"-[MTLComputeCommandEncoder memoryBarrierWithResources:count:]"];
    [self recordBarrier];
}

/* For all resources: which ones a dispatch touches is not known. */
- (void)recordBarrier
{
    if (_dispatchType == MTLDispatchTypeConcurrent) {
        smtl_stream_append(&_buffer->_stream, SMTL_OP_BARRIER, 0, sizeof(smtl_record));
    }
}

- (void)requireResources:(const id<MTLResource>[])resources count:(NSUInteger)count where:(const char *)where
{
    SMTL_REQUIRE_ENCODING(self, where);
    for (NSUInteger i = 0; i < count; i++) {
        SMTLCheckBuffer(where, (id<MTLBuffer>)resources[i], _device);
    }
}

- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage
{
    [self useResources:&resource count:1 usage:usage];
}

- (void)useResources:(const id<MTLResource>[])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage
{
    (void)usage;
    [self requireResources:resources count:count where:"-[MTLComputeCommandEncoder useResources:count:usage:]"];
    for (NSUInteger i = 0; i < count; i++) {
        SMTLBuffer *buffer = (SMTLBuffer *)resources[i];
        SMTLRetainOnce(_buffer, buffer, &buffer->_retained_by);
    }
}

- (void)useHeap:(id<MTLHeap>)heap
{
    [self useHeaps:&heap count:1];
}

- (void)useHeaps:(const id<MTLHeap>[])heaps count:(NSUInteger)count
{
    const char *where = "-[MTLComputeCommandEncoder useHeaps:count:]";
    SMTL_REQUIRE_ENCODING(self, where);
    for (NSUInteger i = 0; i < count; i++) {
        SMTL_REQUIRE(heaps[i] != nil, where, @"heap %lu must not be nil", (unsigned long)i);
        SMTLRetainForCommandBuffer(_buffer, heaps[i]);
    }
}

@end
