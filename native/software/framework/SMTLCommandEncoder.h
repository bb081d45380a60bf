/* What compute and blit encoders have in common. */
#ifndef SMTL_COMMAND_ENCODER_H
#define SMTL_COMMAND_ENCODER_H

#import "SMTLCommandBuffer.h"
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLFence.h>

@interface SMTLCommandEncoder : SMTLObject <MTLCommandEncoder> {
@public
    SMTLCommandBuffer *_buffer; /* retained */
    SMTLDevice *_device;
    BOOL _ended;
@protected
    NSUInteger _debugGroups;
    SMTLCommandBufferEncoderInfo *_info;
}
- (instancetype)initWithCommandBuffer:(SMTLCommandBuffer *)buffer;
- (void)setInfo:(SMTLCommandBufferEncoderInfo *)info;
@end

/* Raises where the encoder has ended. */
#define SMTL_REQUIRE_ENCODING(encoder, where)                                                                          \
    SMTL_REQUIRE(!(encoder)->_ended, where, @"the encoder has ended: no command may follow endEncoding")

/* Fences order the encoders of a queue, and a queue here executes in order: only misuse is to be found. */
void SMTLCheckFence(const char *where, id<MTLFence> fence, SMTLCommandEncoder *encoder);

#endif
