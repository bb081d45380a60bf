#import "SMTLBlitEncoder.h"

#import "SMTLIndirectCommandBuffer.h"
#import "framework/device/SMTLCounterSampleBuffer.h"
#import "framework/memory/SMTLBuffer.h"
#import "support/SMTLError.h"
#include "support/link.h"

/* GPUs of the Mac2 family copy and fill in units of four bytes; Apple's own do not require that. */
static void require_alignment(const char *where, SMTLDevice *device, NSUInteger value, NSString *what) {
    SMTL_REQUIRE(value % 4 == 0 || [device hasUnifiedMemory], where, @"%@ %lu must be a multiple of 4 on this device",
                 what, (unsigned long)value);
}

static void require_range(const char *where, SMTLBuffer *buffer, NSUInteger offset, NSUInteger size, NSString *what) {
    SMTL_REQUIRE(offset <= buffer->_length && size <= buffer->_length - offset, where,
                 @"%@ of %lu bytes at offset %lu exceeds the buffer's length %lu", what, (unsigned long)size,
                 (unsigned long)offset, (unsigned long)buffer->_length);
    require_alignment(where, buffer->_device, offset, @"offset");
    require_alignment(where, buffer->_device, size, @"size");
}

/* A read of a peer's memory, and a copy between system memory and the memory of a device that has its own. */
static bool crosses_a_link(const SMTLBuffer *source, const SMTLBuffer *destination) {
    if (source->_remote != nil) return true;
    const bool reads_shared = SMTLStorageModeOf(source->_options) == MTLStorageModeShared;
    const bool writes_shared = SMTLStorageModeOf(destination->_options) == MTLStorageModeShared;
    return reads_shared != writes_shared && ![source->_device hasUnifiedMemory];
}

@implementation SMTLBlitEncoder

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_BLIT_ENCODER;
}

- (void)synchronizeResource:(id<MTLResource>)resource {
    const char *where = "-[MTLBlitCommandEncoder synchronizeResource:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLBuffer *buffer = SMTLCheckBuffer(where, (id<MTLBuffer>)resource, _device);
    SMTL_REQUIRE(SMTLStorageModeOf(buffer->_options) == MTLStorageModeManaged, where,
                 @"the resource's storage is not managed");
    smtl_record_synchronize *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_SYNCHRONIZE, 0, sizeof *command);
    command->buffer = buffer;
    SMTLRetainOnce(_buffer, buffer, &buffer->_retained_by);
}

- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
    const char *where = "-[MTLBlitCommandEncoder fillBuffer:range:value:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLBuffer *target = SMTLCheckBuffer(where, buffer, _device);
    require_range(where, target, range.location, range.length, @"a fill");
    smtl_record_fill *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_FILL, 0, sizeof *command);
    command->destination = target->_device_bytes + range.location;
    command->size = range.length;
    command->value = value;
    SMTLRetainOnce(_buffer, target, &target->_retained_by);
}

- (void)copyFromBuffer:(id<MTLBuffer>)sourceBuffer
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destinationBuffer
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size {
    const char *where = "-[MTLBlitCommandEncoder copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLBuffer *source = SMTLCheckBlitSource(where, sourceBuffer, _device);
    SMTLBuffer *destination = SMTLCheckBuffer(where, destinationBuffer, _device);
    require_range(where, source, sourceOffset, size, @"a read");
    require_range(where, destination, destinationOffset, size, @"a write");
    const uint8_t *from = source->_device_bytes + sourceOffset;
    uint8_t *to = destination->_device_bytes + destinationOffset;
    SMTL_REQUIRE(from + size <= to || to + size <= from, where, @"the source and destination ranges overlap");
    const bool crosses = smtl_link_enabled() && crosses_a_link(source, destination);
    smtl_record_copy *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_COPY, crosses, sizeof *command);
    command->source = from;
    command->destination = to;
    command->size = size;
    SMTLRetainOnce(_buffer, source, &source->_retained_by);
    SMTLRetainOnce(_buffer, destination, &destination->_retained_by);
}

- (void)resetCommandsInBuffer:(id<MTLIndirectCommandBuffer>)buffer withRange:(NSRange)range {
    const char *where = "-[MTLBlitCommandEncoder resetCommandsInBuffer:withRange:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLIndirectCommandBuffer *own = SMTLCheckIndirectCommands(where, buffer, range, _device);
    SMTLRetainOnce(_buffer, own, &own->_retained_by);
    smtl_record_execute *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_RESET_COMMANDS, 0, sizeof *command);
    command->commands = own;
    command->location = range.location;
    command->length = range.length;
}

- (void)copyIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)source
                      sourceRange:(NSRange)sourceRange
                      destination:(id<MTLIndirectCommandBuffer>)destination
                 destinationIndex:(NSUInteger)destinationIndex {
    const char *where = "-[MTLBlitCommandEncoder copyIndirectCommandBuffer:...]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLIndirectCommandBuffer *from = SMTLCheckIndirectCommands(where, source, sourceRange, _device);
    SMTLIndirectCommandBuffer *to =
        SMTLCheckIndirectCommands(where, destination, NSMakeRange(destinationIndex, sourceRange.length), _device);
    SMTL_REQUIRE(from != to || destinationIndex + sourceRange.length <= sourceRange.location ||
                     sourceRange.location + sourceRange.length <= destinationIndex,
                 where, @"the source and destination commands overlap");
    SMTL_REQUIRE(from->_types == to->_types, where, @"the two indirect command buffers have different command types");
    SMTLRetainOnce(_buffer, from, &from->_retained_by);
    SMTLRetainOnce(_buffer, to, &to->_retained_by);
    smtl_record_copy_commands *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_COPY_COMMANDS, 0, sizeof *command);
    command->source = from;
    command->destination = to;
    command->location = sourceRange.location;
    command->length = sourceRange.length;
    command->index = destinationIndex;
}

/* Commands are executed as they stand: there is nothing to optimise. */
- (void)optimizeIndirectCommandBuffer:(id<MTLIndirectCommandBuffer>)indirectCommandBuffer withRange:(NSRange)range {
    const char *where = "-[MTLBlitCommandEncoder optimizeIndirectCommandBuffer:withRange:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLCheckIndirectCommands(where, indirectCommandBuffer, range, _device);
}

- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)sampleBuffer
                 atSampleIndex:(NSUInteger)sampleIndex
                   withBarrier:(BOOL)barrier {
    SMTLRecordSample(self, "-[MTLBlitCommandEncoder sampleCountersInBuffer:atSampleIndex:withBarrier:]", sampleBuffer,
                     sampleIndex, barrier);
}

- (void)resolveCounters:(id<MTLCounterSampleBuffer>)sampleBuffer
                inRange:(NSRange)range
      destinationBuffer:(id<MTLBuffer>)destinationBuffer
      destinationOffset:(NSUInteger)destinationOffset {
    const char *where = "-[MTLBlitCommandEncoder resolveCounters:inRange:destinationBuffer:destinationOffset:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLCounterSampleBuffer *samples = SMTLCheckSampleBuffer(where, sampleBuffer, range, _device);
    SMTLBuffer *destination = SMTLCheckBuffer(where, destinationBuffer, _device);
    SMTL_REQUIRE(destinationOffset % sizeof(uint64_t) == 0, where, @"offset %lu must be a multiple of 8",
                 (unsigned long)destinationOffset);
    require_range(where, destination, destinationOffset, range.length * sizeof(MTLCounterResultTimestamp), @"a write");
    SMTLRetainForCommandBuffer(_buffer, samples);
    SMTLRetainOnce(_buffer, destination, &destination->_retained_by);
    smtl_record_resolve *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_RESOLVE_SAMPLES, 0, sizeof *command);
    command->samples = samples;
    command->location = range.location;
    command->length = range.length;
    command->destination = destination->_device_bytes + destinationOffset;
}

- (void)updateFence:(id<MTLFence>)fence {
    SMTLEncodeFence("-[MTLBlitCommandEncoder updateFence:]", fence, self, SMTL_OP_UPDATE_FENCE);
}

- (void)waitForFence:(id<MTLFence>)fence {
    SMTLEncodeFence("-[MTLBlitCommandEncoder waitForFence:]", fence, self, SMTL_OP_WAIT_FENCE);
}

@end
