#ifndef SMTL_MPSGRAPHMATRIXMULTIPLICATIONOPS_H
#define SMTL_MPSGRAPHMATRIXMULTIPLICATIONOPS_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraph (MPSGraphMatrixMultiplicationOps)
/* Multiplies the last two dimensions; the others are broadcast. */
- (MPSGraphTensor *)matrixMultiplicationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                          secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                     name:(nullable NSString *)name;
/* softmax(scale * Q * K^T + mask) * V. Q is [B, Hq, Nq, F], K [B, Hk, Nk, F] and V [B, Hk, Nk, Fv]; Hk divides Hq, and
 * the mask is broadcast to [B, Hq, Nq, Nk]. */
- (MPSGraphTensor *)scaledDotProductAttentionWithQueryTensor:(MPSGraphTensor *)queryTensor
                                                   keyTensor:(MPSGraphTensor *)keyTensor
                                                 valueTensor:(MPSGraphTensor *)valueTensor
                                                  maskTensor:(nullable MPSGraphTensor *)maskTensor
                                                       scale:(float)scale
                                                        name:(nullable NSString *)name;
- (MPSGraphTensor *)scaledDotProductAttentionWithQueryTensor:(MPSGraphTensor *)queryTensor
                                                   keyTensor:(MPSGraphTensor *)keyTensor
                                                 valueTensor:(MPSGraphTensor *)valueTensor
                                                       scale:(float)scale
                                                        name:(nullable NSString *)name;
@end

NS_ASSUME_NONNULL_END
#endif
