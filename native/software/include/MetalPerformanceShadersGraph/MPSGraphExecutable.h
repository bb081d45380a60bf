#ifndef SMTL_MPSGRAPHEXECUTABLE_H
#define SMTL_MPSGRAPHEXECUTABLE_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

typedef void (^MPSGraphExecutableCompletionHandler)(NSArray<MPSGraphTensorData *> *results, NSError *_Nullable error);

MTL_EXPORT
@interface MPSGraphExecutableExecutionDescriptor : MPSGraphObject <NSCopying> {
    MPSGraphExecutableCompletionHandler _completionHandler;
}
@property (readwrite, atomic, nullable) MPSGraphExecutableCompletionHandler completionHandler;
@end

/* A graph with the types of its feeds settled, to be encoded again and again, by several threads too. */
MTL_EXPORT
@interface MPSGraphExecutable : MPSGraphObject {
    MPSGraph *_graph;
    id<MTLDevice> _device;
    NSArray *_feedTensors;
    NSArray *_targetTensors;
    NSArray *_steps; /* the tensors that the targets need, in the order of their making */
    NSData *_shapes; /* of all of the graph's tensors, as far as they are needed */
    MPSGraphOptions _options;
}
@property (readwrite, atomic) MPSGraphOptions options;
/* In the order in which inputsArray has to be. */
@property (readonly, nonatomic, nullable) NSArray<MPSGraphTensor *> *feedTensors;
@property (readonly, nonatomic, nullable) NSArray<MPSGraphTensor *> *targetTensors;
- (NSArray<MPSGraphTensorData *> *)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                                              inputsArray:(NSArray<MPSGraphTensorData *> *)inputsArray
                                             resultsArray:(nullable NSArray<MPSGraphTensorData *> *)resultsArray
                                      executionDescriptor:
                                          (nullable MPSGraphExecutableExecutionDescriptor *)executionDescriptor;
- (NSArray<MPSGraphTensorData *> *)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                                             inputsArray:(NSArray<MPSGraphTensorData *> *)inputsArray
                                            resultsArray:(nullable NSArray<MPSGraphTensorData *> *)resultsArray
                                     executionDescriptor:
                                         (nullable MPSGraphExecutableExecutionDescriptor *)executionDescriptor;
@end

NS_ASSUME_NONNULL_END
#endif
