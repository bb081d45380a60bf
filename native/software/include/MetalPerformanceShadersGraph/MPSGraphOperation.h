#ifndef SMTL_MPSGRAPHOPERATION_H
#define SMTL_MPSGRAPHOPERATION_H

#import <MetalPerformanceShadersGraph/MPSGraphTensor.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraph;

/* What makes a tensor of others. A copy is the operation itself. */
MTL_EXPORT
@interface MPSGraphOperation : MPSGraphObject <NSCopying> {
@protected
    NSArray *_inputTensors;
    MPSGraphTensor *_output; /* not retained, as the graph is not: nil when it is gone */
    MPSGraph *_graph;
    NSString *_name;
}
@property (readonly, nonatomic) NSArray<MPSGraphTensor *> *inputTensors;
@property (readonly, nonatomic) NSArray<MPSGraphTensor *> *outputTensors;
@property (readonly, nonatomic) MPSGraph *graph;
@property (readonly, nonatomic) NSString *name;
@end

NS_ASSUME_NONNULL_END
#endif
