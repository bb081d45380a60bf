#ifndef SMTL_MPSGRAPHTENSOR_H
#define SMTL_MPSGRAPHTENSOR_H

#import <MetalPerformanceShadersGraph/MPSGraphCore.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraphOperation;

/* A value of a graph: the result of an operation, which the graph owns. A copy is the tensor itself. */
MTL_EXPORT
@interface MPSGraphTensor : MPSGraphObject <NSCopying> {
    MPSShape *_shape;
    MPSDataType _dataType;
    MPSGraphOperation *_operation;
    NSUInteger _index; /* in the graph */
}
@property (readonly, nonatomic, copy, nullable) MPSShape *shape;
@property (readonly, nonatomic) MPSDataType dataType;
@property (readonly, nonatomic) MPSGraphOperation *operation;
@end

NS_ASSUME_NONNULL_END
#endif
