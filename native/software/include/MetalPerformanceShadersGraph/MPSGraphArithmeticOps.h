#ifndef SMTL_MPSGRAPHARITHMETICOPS_H
#define SMTL_MPSGRAPHARITHMETICOPS_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

/* Shapes are broadcast. */
@interface MPSGraph (MPSGraphArithmeticOps)
- (MPSGraphTensor *)additionWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                              secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                         name:(nullable NSString *)name;
- (MPSGraphTensor *)multiplicationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                    secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                               name:(nullable NSString *)name;
@end

NS_ASSUME_NONNULL_END
#endif
