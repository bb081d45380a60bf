#ifndef SMTL_MPSGRAPHACTIVATIONOPS_H
#define SMTL_MPSGRAPHACTIVATIONOPS_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraph (MPSGraphActivationOps)
- (MPSGraphTensor *)reLUWithTensor:(MPSGraphTensor *)tensor name:(nullable NSString *)name;
/* A negative axis counts from the last dimension. */
- (MPSGraphTensor *)softMaxWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(nullable NSString *)name;
@end

NS_ASSUME_NONNULL_END
#endif
