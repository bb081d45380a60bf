#ifndef SMTL_MPSGRAPHMEMORYOPS_H
#define SMTL_MPSGRAPHMEMORYOPS_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraph (MPSGraphMemoryOps)
/* A tensor that is fed; nil shape or lengths of -1: as what is fed has them. */
- (MPSGraphTensor *)placeholderWithShape:(nullable MPSShape *)shape
                                dataType:(MPSDataType)dataType
                                    name:(nullable NSString *)name;
- (MPSGraphTensor *)constantWithData:(NSData *)data shape:(MPSShape *)shape dataType:(MPSDataType)dataType;
- (MPSGraphTensor *)constantWithScalar:(double)scalar dataType:(MPSDataType)dataType;
- (MPSGraphTensor *)constantWithScalar:(double)scalar shape:(MPSShape *)shape dataType:(MPSDataType)dataType;
@end

NS_ASSUME_NONNULL_END
#endif
