#ifndef SMTL_MPSGRAPH_H
#define SMTL_MPSGRAPH_H

#import <MetalPerformanceShadersGraph/MPSGraphDevice.h>
#import <MetalPerformanceShadersGraph/MPSGraphOperation.h>
#import <MetalPerformanceShadersGraph/MPSGraphTensor.h>
#import <MetalPerformanceShadersGraph/MPSGraphTensorData.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraphExecutable;

typedef NS_ENUM(uint64_t, MPSGraphOptions) {
    MPSGraphOptionsNone = 0,
    /* Results of managed storage are synchronised. */
    MPSGraphOptionsSynchronizeResults = 1,
    MPSGraphOptionsVerbose = 2,
    MPSGraphOptionsDefault = MPSGraphOptionsSynchronizeResults,
};

typedef NS_ENUM(uint64_t, MPSGraphOptimization) {
    MPSGraphOptimizationLevel0 = 0,
    MPSGraphOptimizationLevel1 = 1,
};

typedef NSDictionary<MPSGraphTensor *, MPSGraphTensorData *> MPSGraphTensorDataDictionary;
typedef NSDictionary<MPSGraphTensor *, MPSGraphShapedType *> MPSGraphTensorShapedTypeDictionary;
typedef void (^MPSGraphCompletionHandler)(MPSGraphTensorDataDictionary *resultsDictionary, NSError *_Nullable error);

/* Both levels do the same here. */
MTL_EXPORT
@interface MPSGraphCompilationDescriptor : MPSGraphObject <NSCopying> {
    MPSGraphOptimization _optimizationLevel;
}
@property (readwrite, nonatomic) MPSGraphOptimization optimizationLevel;
@end

MTL_EXPORT
@interface MPSGraphExecutionDescriptor : MPSGraphObject {
    MPSGraphCompletionHandler _completionHandler;
}
/* Called once the command buffer has completed. */
@property (readwrite, atomic, nullable) MPSGraphCompletionHandler completionHandler;
@end

MTL_EXPORT
@interface MPSGraph : MPSGraphObject {
    NSMutableArray *_tensors; /* in the order of their making, so that inputs come before what uses them */
    NSMutableArray *_placeholders;
    MPSGraphOptions _options;
}
@property (readwrite, atomic) MPSGraphOptions options;
@property (readonly, nonnull, nonatomic) NSArray<MPSGraphTensor *> *placeholderTensors;
+ (instancetype)new;
- (instancetype)init;
/* Checks the graph for these types of its placeholders. */
- (MPSGraphExecutable *)compileWithDevice:(nullable MPSGraphDevice *)device
                                    feeds:(MPSGraphTensorShapedTypeDictionary *)feeds
                            targetTensors:(NSArray<MPSGraphTensor *> *)targetTensors
                         targetOperations:(nullable NSArray<MPSGraphOperation *> *)targetOperations
                    compilationDescriptor:(nullable MPSGraphCompilationDescriptor *)compilationDescriptor;
- (MPSGraphTensorDataDictionary *)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                                                   feeds:(MPSGraphTensorDataDictionary *)feeds
                                           targetTensors:(NSArray<MPSGraphTensor *> *)targetTensors
                                        targetOperations:(nullable NSArray<MPSGraphOperation *> *)targetOperations;
- (void)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                         feeds:(MPSGraphTensorDataDictionary *)feeds
              targetOperations:(nullable NSArray<MPSGraphOperation *> *)targetOperations
             resultsDictionary:(MPSGraphTensorDataDictionary *)resultsDictionary;
- (MPSGraphTensorDataDictionary *)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                                                  feeds:(MPSGraphTensorDataDictionary *)feeds
                                          targetTensors:(NSArray<MPSGraphTensor *> *)targetTensors
                                       targetOperations:(nullable NSArray<MPSGraphOperation *> *)targetOperations
                                    executionDescriptor:(nullable MPSGraphExecutionDescriptor *)executionDescriptor;
- (void)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                        feeds:(MPSGraphTensorDataDictionary *)feeds
             targetOperations:(nullable NSArray<MPSGraphOperation *> *)targetOperations
            resultsDictionary:(MPSGraphTensorDataDictionary *)resultsDictionary
          executionDescriptor:(nullable MPSGraphExecutionDescriptor *)executionDescriptor;
@end

NS_ASSUME_NONNULL_END
#endif
