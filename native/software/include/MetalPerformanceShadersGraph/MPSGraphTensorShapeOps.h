#ifndef SMTL_MPSGRAPHTENSORSHAPEOPS_H
#define SMTL_MPSGRAPHTENSORSHAPEOPS_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraph (MPSGraphTensorShapeOps)
/* One length may be -1: what the others leave. */
- (MPSGraphTensor *)reshapeTensor:(MPSGraphTensor *)tensor withShape:(MPSShape *)shape name:(nullable NSString *)name;
- (MPSGraphTensor *)transposeTensor:(MPSGraphTensor *)tensor
                          dimension:(NSUInteger)dimensionIndex
                      withDimension:(NSUInteger)dimensionIndex2
                               name:(nullable NSString *)name;
- (MPSGraphTensor *)castTensor:(MPSGraphTensor *)tensor toType:(MPSDataType)type name:(nullable NSString *)name;
@end

NS_ASSUME_NONNULL_END
#endif
