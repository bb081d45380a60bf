/* What compute and blit encoders have in common. */
#ifndef SMTL_COMMAND_ENCODER_H
#define SMTL_COMMAND_ENCODER_H

#import "SMTLCommandBuffer.h"
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLCounters.h>
#import <Metal/MTLFence.h>

@interface SMTLCommandEncoder : SMTLObject <MTLCommandEncoder> {
@public
    SMTLCommandBuffer *_buffer; /* retained */
    SMTLDevice *_device;
    BOOL _ended;
@protected
    NSUInteger _debugGroups;
    SMTLCommandBufferEncoderInfo *_info;
    NSArray *_attachments; /* of the pass: samples to take at its end */
    NSMutableSet *_updatedFences;
}
- (instancetype)initWithCommandBuffer:(SMTLCommandBuffer *)buffer;
- (void)setInfo:(SMTLCommandBufferEncoderInfo *)info;
/* Ends an encoder that no caller has received. */
- (void)abandon;
/* Notes that the encoder updates the fence. Raises if it waits for one that it has updated. */
- (void)useFence:(id<MTLFence>)fence updates:(bool)updates where:(const char *)where;
/* Takes the samples that the pass wants at its start now, and those at its end when it ends: SMTLSampleAttachment
 * objects. */
- (void)takeAttachments:(NSArray *)attachments where:(const char *)where;
@end

/* Raises if the encoder has ended. */
#define SMTL_REQUIRE_ENCODING(encoder, where) \
    SMTL_REQUIRE(!(encoder)->_ended, where, @"the encoder has ended: no command may follow endEncoding")

/* What the sample attachments of compute and blit passes have in common. */
@protocol SMTLSampleAttachment
- (id<MTLCounterSampleBuffer>)sampleBuffer;
- (NSUInteger)startOfEncoderSampleIndex;
- (NSUInteger)endOfEncoderSampleIndex;
@end

/* A counter sample at this point. A barrier changes nothing: what is before the sample has run anyway. */
void SMTLRecordSample(SMTLCommandEncoder *encoder, const char *where, id<MTLCounterSampleBuffer> sampleBuffer,
                      NSUInteger index, BOOL barrier);

/* Fences order the encoders of a queue, and a queue here executes in order: only misuse is to be found. */
/* Checks the fence, and records what the encoder does with it, if the kernel sanitizer wants to know. */
void SMTLEncodeFence(const char *where, id<MTLFence> fence, SMTLCommandEncoder *encoder, smtl_op op);

#endif
