#ifndef SMTL_MPSNDARRAYKERNEL_H
#define SMTL_MPSNDARRAYKERNEL_H

#import <MetalPerformanceShaders/MPSCore/MPSKernel.h>
#import <MetalPerformanceShaders/MPSCore/MPSNDArray.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MPSNDArrayMultiaryBase : MPSKernel {
@protected
    NSUInteger _sourceCount;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device sourceCount:(NSUInteger)count;
@end

MTL_EXPORT
@interface MPSNDArrayMultiaryKernel : MPSNDArrayMultiaryBase
/* Gives a new array. */
- (MPSNDArray *)encodeToCommandBuffer:(id<MTLCommandBuffer>)cmdBuf sourceArrays:(NSArray<MPSNDArray *> *)sourceArrays;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)cmdBuf
                 sourceArrays:(NSArray<MPSNDArray *> *)sourceArrays
             destinationArray:(MPSNDArray *)destination;
@end

NS_ASSUME_NONNULL_END
#endif
