#ifndef SMTL_MTLCOMPUTEPIPELINE_H
#define SMTL_MTLCOMPUTEPIPELINE_H

#import <Metal/MTLArgument.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLLinkedFunctions.h>
#import <Metal/MTLPipeline.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBinaryArchive;
@protocol MTLDynamicLibrary;
@protocol MTLFunctionHandle;
@protocol MTLVisibleFunctionTable;
@class MTLVisibleFunctionTableDescriptor;

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
    NSArray<id<MTLDynamicLibrary>> *_preloadedLibraries;
    NSArray<id<MTLBinaryArchive>> *_binaryArchives;
    MTLLinkedFunctions *_linkedFunctions;
    BOOL _supportAddingBinaryFunctions;
    NSUInteger _maxCallStackDepth;
    MTLShaderValidation _shaderValidation;
    MTLSize _requiredThreadsPerThreadgroup;
    NSInteger _forwardProgressUsage;
}
@property (nullable, copy, nonatomic) NSString *label;
@property (nullable, readwrite, nonatomic, retain) id<MTLFunction> computeFunction;
@property (readwrite, nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property (readwrite, nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property (readonly) MTLPipelineBufferDescriptorArray *buffers;
@property (readwrite, nonatomic) BOOL supportIndirectCommandBuffers;
@property (nullable, readwrite, nonatomic, copy) NSArray<id<MTLDynamicLibrary>> *insertLibraries;
@property (readwrite, nonatomic, copy) NSArray<id<MTLDynamicLibrary>> *preloadedLibraries;
/* Where machine code is looked for before it is compiled. */
@property (nullable, readwrite, nonatomic, copy) NSArray<id<MTLBinaryArchive>> *binaryArchives;
@property (nullable, readwrite, nonatomic, copy) MTLLinkedFunctions *linkedFunctions;
@property (readwrite, nonatomic) BOOL supportAddingBinaryFunctions;
@property (readwrite, nonatomic) NSUInteger maxCallStackDepth;
@property (readwrite, nonatomic) MTLShaderValidation shaderValidation;
/* All zero: any size. */
@property (readwrite, nonatomic) MTLSize requiredThreadsPerThreadgroup;
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
@property (nullable, readonly) MTLComputePipelineReflection *reflection;
@property (readonly) MTLShaderValidation shaderValidation;
@property (readonly) MTLSize requiredThreadsPerThreadgroup;
- (NSUInteger)imageblockMemoryLengthForDimensions:(MTLSize)imageblockDimensions;
/* nil: there are no linked functions. */
- (nullable id<MTLFunctionHandle>)functionHandleWithName:(NSString *)name;
- (nullable id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)function;
- (nullable id<MTLVisibleFunctionTable>)newVisibleFunctionTableWithDescriptor:
    (MTLVisibleFunctionTableDescriptor *)descriptor;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithAdditionalBinaryFunctions:(NSArray<id<MTLFunction>> *)functions
                                                   error:(NSError *_Nullable *_Nullable)error;
@end

typedef void (^MTLNewComputePipelineStateCompletionHandler)(id<MTLComputePipelineState> _Nullable state,
                                                            NSError *_Nullable error);
typedef void (^MTLNewComputePipelineStateWithReflectionCompletionHandler)(
    id<MTLComputePipelineState> _Nullable state, MTLComputePipelineReflection *_Nullable reflection,
    NSError *_Nullable error);

NS_ASSUME_NONNULL_END
#endif
