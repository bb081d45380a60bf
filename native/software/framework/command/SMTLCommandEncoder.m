#import "SMTLCommandEncoder.h"

#import "framework/device/SMTLCounterSampleBuffer.h"
#import "framework/sync/SMTLEvent.h"
#import "support/SMTLError.h"

void SMTLEncodeFence(const char *where, id<MTLFence> fence, SMTLCommandEncoder *encoder, smtl_op op) {
    SMTL_REQUIRE_ENCODING(encoder, where);
    SMTL_REQUIRE(fence != nil, where, @"fence must not be nil");
    SMTL_REQUIRE(((SMTLFence *)fence)->_device == encoder->_device, where, @"the fence belongs to another device");
    [encoder useFence:fence updates:op == SMTL_OP_UPDATE_FENCE where:where];
    if (smtl_sanitizer_enabled()) {
        smtl_record_fence *command = smtl_stream_append(&encoder->_buffer->_stream, op, 0, sizeof *command);
        command->fence = (SMTLFence *)fence;
        /* Retained even if the command buffer does not retain its resources: the program may release it now. */
        [encoder->_buffer keep:fence];
    }
}

void SMTLRecordSample(SMTLCommandEncoder *encoder, const char *where, id<MTLCounterSampleBuffer> sampleBuffer,
                      NSUInteger index, BOOL barrier) {
    (void)barrier;
    SMTL_REQUIRE_ENCODING(encoder, where);
    SMTLCounterSampleBuffer *samples =
        SMTLCheckSampleBuffer(where, sampleBuffer, NSMakeRange(index, 1), encoder->_device);
    SMTLRetainForCommandBuffer(encoder->_buffer, samples);
    smtl_record_sample *command = smtl_stream_append(&encoder->_buffer->_stream, SMTL_OP_SAMPLE, 0, sizeof *command);
    command->samples = samples;
    command->index = index;
}

@implementation SMTLCommandEncoder

- (instancetype)initWithCommandBuffer:(SMTLCommandBuffer *)buffer {
    self = [super init];
    _buffer = [buffer retain];
    _device = buffer->_device;
    return self;
}

- (void)dealloc {
    if (!_ended) [_buffer encoderLost:self];
    [_info release];
    [_attachments release];
    [_updatedFences release];
    [_buffer release];
    [super dealloc];
}

- (void)setInfo:(SMTLCommandBufferEncoderInfo *)info {
    _info = [info retain];
}

- (void)useFence:(id<MTLFence>)fence updates:(bool)updates where:(const char *)where {
    SMTL_REQUIRE(updates || ![_updatedFences containsObject:fence], where,
                 @"this encoder has updated the fence: it would wait for itself");
    if (!updates) return;
    if (_updatedFences == nil) _updatedFences = [[NSMutableSet alloc] init];
    [_updatedFences addObject:fence];
}

- (void)takeAttachments:(NSArray *)attachments where:(const char *)where {
    _attachments = [attachments retain];
    for (id<SMTLSampleAttachment> attachment in attachments) {
        /* Both are checked now, before the caller has encoded anything. */
        const NSUInteger end = [attachment endOfEncoderSampleIndex];
        if (end != MTLCounterDontSample)
            SMTLCheckSampleBuffer(where, [attachment sampleBuffer], NSMakeRange(end, 1), _device);
        if ([attachment startOfEncoderSampleIndex] != MTLCounterDontSample)
            SMTLRecordSample(self, where, [attachment sampleBuffer], [attachment startOfEncoderSampleIndex], YES);
    }
}

- (void)abandon {
    _ended = YES;
    [_buffer encoderEnded];
}

- (void)takeLastSamples {
    for (id<SMTLSampleAttachment> attachment in _attachments) {
        if ([attachment endOfEncoderSampleIndex] != MTLCounterDontSample) {
            SMTLRecordSample(self, "-[MTLCommandEncoder endEncoding]", [attachment sampleBuffer],
                             [attachment endOfEncoderSampleIndex], YES);
        }
    }
}

- (void)endEncoding {
    SMTL_REQUIRE(!_ended, "-[MTLCommandEncoder endEncoding]", @"the encoder has ended already");
    [self takeLastSamples];
    _ended = YES;
    if (_info != nil) _info->_label = [[self label] copy];
    [_buffer encoderEnded];
}

- (id<MTLDevice>)device {
    return _device;
}

- (void)insertDebugSignpost:(NSString *)string {
    SMTL_REQUIRE_ENCODING(self, "-[MTLCommandEncoder insertDebugSignpost:]");
    SMTL_REQUIRE(string != nil, "-[MTLCommandEncoder insertDebugSignpost:]", @"string must not be nil");
    if (_info != nil) [_info->_debugSignposts addObject:string];
}

- (void)pushDebugGroup:(NSString *)string {
    SMTL_REQUIRE_ENCODING(self, "-[MTLCommandEncoder pushDebugGroup:]");
    SMTL_REQUIRE(string != nil, "-[MTLCommandEncoder pushDebugGroup:]", @"string must not be nil");
    _debugGroups++;
}

- (void)popDebugGroup {
    SMTL_REQUIRE_ENCODING(self, "-[MTLCommandEncoder popDebugGroup]");
    SMTL_REQUIRE(_debugGroups > 0, "-[MTLCommandEncoder popDebugGroup]", @"no debug group is open");
    _debugGroups--;
}

@end
