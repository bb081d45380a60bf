#import "SMTLBlitEncoder.h"

#import "SMTLBuffer.h"
#import "SMTLError.h"

/* GPUs of the Mac2 family copy and fill in units of four bytes; Apple's own do not care. */
static void require_alignment(const char *where, SMTLDevice *device, NSUInteger value, NSString *what)
{
    SMTL_REQUIRE([device hasUnifiedMemory] || value % 4 == 0, where, @"%@ %lu must be a multiple of 4 on this device",
                 what, (unsigned long)value);
}

static void require_range(const char *where, SMTLBuffer *buffer, NSUInteger offset, NSUInteger size, NSString *what)
{
    SMTL_REQUIRE(offset <= buffer->_length && size <= buffer->_length - offset, where,
                 @"%@ of %lu bytes at offset %lu exceeds the buffer's length %lu", what, (unsigned long)size,
                 (unsigned long)offset, (unsigned long)buffer->_length);
    require_alignment(where, buffer->_device, offset, @"offset");
    require_alignment(where, buffer->_device, size, @"size");
}

@implementation SMTLBlitEncoder

+ (smtl_object_class)objectClass
{
    return SMTL_OBJECT_BLIT_ENCODER;
}

- (void)synchronizeResource:(id<MTLResource>)resource
{
    const char *where = "-[MTLBlitCommandEncoder synchronizeResource:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLBuffer *buffer = SMTLCheckBuffer(where, (id<MTLBuffer>)resource, _device);
    SMTL_REQUIRE(SMTLStorageModeOf(buffer->_options) == MTLStorageModeManaged, where,
                 @"the resource's storage is not managed");
    smtl_record_synchronize *command =
        smtl_stream_append(&_buffer->_stream, SMTL_OP_SYNCHRONIZE, 0, sizeof *command);
    command->buffer = buffer;
    SMTLRetainOnce(_buffer, buffer, &buffer->_retained_by);
}

- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value
{
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
                  size:(NSUInteger)size
{
    const char *where = "-[MTLBlitCommandEncoder copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:]";
    SMTL_REQUIRE_ENCODING(self, where);
    SMTLBuffer *source = SMTLCheckBuffer(where, sourceBuffer, _device);
    SMTLBuffer *destination = SMTLCheckBuffer(where, destinationBuffer, _device);
    require_range(where, source, sourceOffset, size, @"a read");
    require_range(where, destination, destinationOffset, size, @"a write");
    const uint8_t *from = source->_device_bytes + sourceOffset;
    uint8_t *to = destination->_device_bytes + destinationOffset;
    SMTL_REQUIRE(from + size <= to || to + size <= from, where, @"the source and destination ranges overlap");
    smtl_record_copy *command = smtl_stream_append(&_buffer->_stream, SMTL_OP_COPY, 0, sizeof *command);
    command->source = from;
    command->destination = to;
    command->size = size;
    SMTLRetainOnce(_buffer, source, &source->_retained_by);
    SMTLRetainOnce(_buffer, destination, &destination->_retained_by);
}

- (void)updateFence:(id<MTLFence>)fence
{
    SMTLCheckFence("-[MTLBlitCommandEncoder updateFence:]", fence, self);
}

- (void)waitForFence:(id<MTLFence>)fence
{
    SMTLCheckFence("-[MTLBlitCommandEncoder waitForFence:]", fence, self);
}

@end
