#ifndef SMTL_MTLCOMPUTEPIPELINE_H
#define SMTL_MTLCOMPUTEPIPELINE_H

#import <Metal/MTLArgument.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLPipeline.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MTLComputePipelineReflection : NSObject {
    NSArray<id<MTLBinding>> *_bindings;
    NSArray<MTLArgument *> *_arguments;
}
@property (readonly) NSArray<id<MTLBinding>> *bindings;
@property (readonly) NSArray<MTLArgument *> *arguments;
@end

typedef MTLComputePipelineReflection *_Nullable MTLAutoreleasedComputePipelineReflection;

MTL_EXPORT
@interface MTLComputePipelineDescriptor : NSObject <NSCopying> {
    NSString *_label;
    id<MTLFunction> _computeFunction;
    BOOL _threadGroupSizeIsMultipleOfThreadExecutionWidth;
    NSUInteger _maxTotalThreadsPerThreadgroup;
    MTLPipelineBufferDescriptorArray *_buffers;
    BOOL _supportIndirectCommandBuffers;
}
@property (nullable, copy, nonatomic) NSString *label;
@property (nullable, readwrite, nonatomic, retain) id<MTLFunction> computeFunction;
@property (readwrite, nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property (readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property (readonly) MTLPipelineBufferDescriptorArray *buffers;
@property (readwrite, nonatomic) BOOL supportIndirectCommandBuffers;
- (void)reset;
@end

@protocol MTLComputePipelineState <NSObject>
@property (nullable, readonly) NSString *label;
@property (readonly) id<MTLDevice> device;
@property (readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property (readonly) NSUInteger threadExecutionWidth;
@property (readonly) NSUInteger staticThreadgroupMemoryLength;
@property (readonly) BOOL supportIndirectCommandBuffers;
@property (readonly) MTLResourceID gpuResourceID;
@end

typedef void (^MTLNewComputePipelineStateCompletionHandler)(id<MTLComputePipelineState> _Nullable state,
                                                            NSError *_Nullable error);
typedef void (^MTLNewComputePipelineStateWithReflectionCompletionHandler)(
    id<MTLComputePipelineState> _Nullable state, MTLComputePipelineReflection *_Nullable reflection,
    NSError *_Nullable error);

NS_ASSUME_NONNULL_END
#endif
