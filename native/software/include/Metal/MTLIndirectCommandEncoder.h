#ifndef SMTL_MTLINDIRECTCOMMANDENCODER_H
#define SMTL_MTLINDIRECTCOMMANDENCODER_H

#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer;
@protocol MTLComputePipelineState;

/* One command of an indirect command buffer. */
@protocol MTLIndirectComputeCommand <NSObject>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)pipelineState;
- (void)setKernelBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)concurrentDispatchThreadgroups:(MTLSize)threadgroupsPerGrid
                 threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
- (void)concurrentDispatchThreads:(MTLSize)threadsPerGrid threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
/* All commands before this one complete before it begins. */
- (void)setBarrier;
- (void)clearBarrier;
/* Makes it a command that does nothing. */
- (void)reset;
@end

NS_ASSUME_NONNULL_END
#endif
