#ifndef SMTL_MPSCOMMANDBUFFER_H
#define SMTL_MPSCOMMANDBUFFER_H

#import <Metal/Metal.h>

NS_ASSUME_NONNULL_BEGIN

/* Passes on what it is asked to a command buffer, which commitAndContinue exchanges for another of the same queue. */
MTL_EXPORT
@interface MPSCommandBuffer : NSObject <MTLCommandBuffer> {
    id<MTLCommandBuffer> _commandBuffer;
}
@property (readonly, nonatomic, retain) id<MTLCommandBuffer> commandBuffer;
/* The command buffer behind the one that this was made with. */
@property (readonly, nonatomic, retain) id<MTLCommandBuffer> rootCommandBuffer;
+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (void)commitAndContinue;
@end

NS_ASSUME_NONNULL_END
#endif
