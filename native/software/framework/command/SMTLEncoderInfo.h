#ifndef SMTL_ENCODER_INFO_H
#define SMTL_ENCODER_INFO_H

#import <Metal/MTLCommandBuffer.h>

/* What an error tells about one encoder of its command buffer. */
@interface SMTLCommandBufferEncoderInfo : NSObject <MTLCommandBufferEncoderInfo> {
@public
    NSString *_label;
    NSMutableArray *_debugSignposts;
    MTLCommandEncoderErrorState _errorState;
}
@end

#endif
