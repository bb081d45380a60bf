#ifndef SMTL_MPSGRAPHNORMALIZATIONOPS_H
#define SMTL_MPSGRAPHNORMALIZATIONOPS_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraph (MPSGraphNormalizationOps)
/* The reduced dimensions keep the length 1. */
- (MPSGraphTensor *)meanOfTensor:(MPSGraphTensor *)tensor
                            axes:(NSArray<NSNumber *> *)axes
                            name:(nullable NSString *)name;
- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor
                          meanTensor:(MPSGraphTensor *)meanTensor
                                axes:(NSArray<NSNumber *> *)axes
                                name:(nullable NSString *)name;
- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor
                                axes:(NSArray<NSNumber *> *)axes
                                name:(nullable NSString *)name;
/* (x - mean) / sqrt(variance + epsilon) * gamma + beta; all four are broadcast to the tensor. */
- (MPSGraphTensor *)normalizationWithTensor:(MPSGraphTensor *)tensor
                                 meanTensor:(MPSGraphTensor *)mean
                             varianceTensor:(MPSGraphTensor *)variance
                                gammaTensor:(nullable MPSGraphTensor *)gamma
                                 betaTensor:(nullable MPSGraphTensor *)beta
                                    epsilon:(float)epsilon
                                       name:(nullable NSString *)name;
@end

NS_ASSUME_NONNULL_END
#endif
