#ifndef SMTL_MTLDEVICE_H
#define SMTL_MTLDEVICE_H

#import <Metal/MTLComputePipeline.h>
#import <Metal/MTLCounters.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLResource.h>
#import <dispatch/dispatch.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLBinaryArchiveDescriptor;
@class MTLCommandQueueDescriptor;
@class MTLHeapDescriptor;
@class MTLIndirectCommandBufferDescriptor;
@class MTLLogStateDescriptor;
@class MTLResidencySetDescriptor;
@class MTLSharedEventHandle;
@protocol MTLArgumentEncoder;
@protocol MTLBinaryArchive;
@protocol MTLBuffer;
@protocol MTLCommandQueue;
@protocol MTLEvent;
@protocol MTLFence;
@protocol MTLHeap;
@protocol MTLIndirectCommandBuffer;
@protocol MTLLogState;
@protocol MTLResidencySet;
@protocol MTLSharedEvent;

typedef NS_ENUM(NSInteger, MTLGPUFamily) {
    MTLGPUFamilyApple1 = 1001,
    MTLGPUFamilyApple2 = 1002,
    MTLGPUFamilyApple3 = 1003,
    MTLGPUFamilyApple4 = 1004,
    MTLGPUFamilyApple5 = 1005,
    MTLGPUFamilyApple6 = 1006,
    MTLGPUFamilyApple7 = 1007,
    MTLGPUFamilyApple8 = 1008,
    MTLGPUFamilyApple9 = 1009,
    MTLGPUFamilyApple10 = 1010,
    MTLGPUFamilyMac1 = 2001,
    MTLGPUFamilyMac2 = 2002,
    MTLGPUFamilyCommon1 = 3001,
    MTLGPUFamilyCommon2 = 3002,
    MTLGPUFamilyCommon3 = 3003,
    MTLGPUFamilyMacCatalyst1 = 4001,
    MTLGPUFamilyMacCatalyst2 = 4002,
    MTLGPUFamilyMetal3 = 5001,
    MTLGPUFamilyMetal4 = 5002,
};

/* How devices were told apart before MTLGPUFamily. */
typedef NS_ENUM(NSUInteger, MTLFeatureSet) {
    MTLFeatureSet_iOS_GPUFamily1_v1 = 0,
    MTLFeatureSet_iOS_GPUFamily2_v1 = 1,
    MTLFeatureSet_iOS_GPUFamily1_v2 = 2,
    MTLFeatureSet_iOS_GPUFamily2_v2 = 3,
    MTLFeatureSet_iOS_GPUFamily3_v1 = 4,
    MTLFeatureSet_iOS_GPUFamily1_v3 = 5,
    MTLFeatureSet_iOS_GPUFamily2_v3 = 6,
    MTLFeatureSet_iOS_GPUFamily3_v2 = 7,
    MTLFeatureSet_iOS_GPUFamily1_v4 = 8,
    MTLFeatureSet_iOS_GPUFamily2_v4 = 9,
    MTLFeatureSet_iOS_GPUFamily3_v3 = 10,
    MTLFeatureSet_iOS_GPUFamily4_v1 = 11,
    MTLFeatureSet_iOS_GPUFamily1_v5 = 12,
    MTLFeatureSet_iOS_GPUFamily2_v5 = 13,
    MTLFeatureSet_iOS_GPUFamily3_v4 = 14,
    MTLFeatureSet_iOS_GPUFamily4_v2 = 15,
    MTLFeatureSet_iOS_GPUFamily5_v1 = 16,
    MTLFeatureSet_macOS_GPUFamily1_v1 = 10000,
    MTLFeatureSet_OSX_GPUFamily1_v1 = 10000,
    MTLFeatureSet_macOS_GPUFamily1_v2 = 10001,
    MTLFeatureSet_OSX_GPUFamily1_v2 = 10001,
    MTLFeatureSet_macOS_ReadWriteTextureTier2 = 10002,
    MTLFeatureSet_OSX_ReadWriteTextureTier2 = 10002,
    MTLFeatureSet_macOS_GPUFamily1_v3 = 10003,
    MTLFeatureSet_macOS_GPUFamily1_v4 = 10004,
    MTLFeatureSet_macOS_GPUFamily2_v1 = 10005,
    MTLFeatureSet_tvOS_GPUFamily1_v1 = 30000,
    MTLFeatureSet_TVOS_GPUFamily1_v1 = 30000,
    MTLFeatureSet_tvOS_GPUFamily1_v2 = 30001,
    MTLFeatureSet_tvOS_GPUFamily1_v3 = 30002,
    MTLFeatureSet_tvOS_GPUFamily2_v1 = 30003,
    MTLFeatureSet_tvOS_GPUFamily1_v4 = 30004,
    MTLFeatureSet_tvOS_GPUFamily2_v2 = 30005,
};

typedef NS_ENUM(NSUInteger, MTLDeviceLocation) {
    MTLDeviceLocationBuiltIn = 0,
    MTLDeviceLocationSlot = 1,
    MTLDeviceLocationExternal = 2,
    MTLDeviceLocationUnspecified = NSUIntegerMax,
};

typedef NS_OPTIONS(NSUInteger, MTLPipelineOption) {
    MTLPipelineOptionNone = 0,
    MTLPipelineOptionArgumentInfo = 1 << 0,
    MTLPipelineOptionBindingInfo = 1 << 0,
    MTLPipelineOptionBufferTypeInfo = 1 << 1,
    MTLPipelineOptionFailOnBinaryArchiveMiss = 1 << 2,
};

typedef NS_ENUM(NSUInteger, MTLArgumentBuffersTier) {
    MTLArgumentBuffersTier1 = 0,
    MTLArgumentBuffersTier2 = 1,
};

typedef NS_ENUM(NSUInteger, MTLReadWriteTextureTier) {
    MTLReadWriteTextureTierNone = 0,
    MTLReadWriteTextureTier1 = 1,
    MTLReadWriteTextureTier2 = 2,
};

typedef NS_ENUM(NSUInteger, MTLCounterSamplingPoint) {
    MTLCounterSamplingPointAtStageBoundary = 0,
    MTLCounterSamplingPointAtDrawBoundary = 1,
    MTLCounterSamplingPointAtDispatchBoundary = 2,
    MTLCounterSamplingPointAtTileDispatchBoundary = 3,
    MTLCounterSamplingPointAtBlitBoundary = 4,
};

typedef uint64_t MTLTimestamp;

typedef struct {
    NSUInteger size;
    NSUInteger align;
} MTLSizeAndAlign;

MTL_EXPORT
@interface MTLArchitecture : NSObject <NSCopying> {
    NSString *_name;
}
@property (nonatomic, readonly) NSString *name;
@end

/* One argument of an argument buffer that no function declares. */
MTL_EXPORT
@interface MTLArgumentDescriptor : NSObject <NSCopying> {
    MTLDataType _dataType;
    NSUInteger _index;
    NSUInteger _arrayLength;
    MTLBindingAccess _access;
    NSUInteger _constantBlockAlignment;
}
+ (MTLArgumentDescriptor *)argumentDescriptor;
@property (nonatomic) MTLDataType dataType;
@property (nonatomic) NSUInteger index;
@property (nonatomic) NSUInteger arrayLength;
@property (nonatomic) MTLBindingAccess access;
@property (nonatomic) NSUInteger constantBlockAlignment;
@end

@protocol MTLDevice <NSObject>
@property (readonly) NSString *name;
@property (readonly) uint64_t registryID;
@property (readonly) MTLArchitecture *architecture;
@property (readonly) MTLSize maxThreadsPerThreadgroup;
@property (readonly, getter=isLowPower) BOOL lowPower;
@property (readonly, getter=isHeadless) BOOL headless;
@property (readonly, getter=isRemovable) BOOL removable;
@property (readonly) BOOL hasUnifiedMemory;
@property (readonly) uint64_t recommendedMaxWorkingSetSize;
@property (readonly) MTLDeviceLocation location;
@property (readonly) NSUInteger locationNumber;
@property (readonly) uint64_t maxTransferRate;
@property (readonly) MTLArgumentBuffersTier argumentBuffersSupport;
@property (readonly) NSUInteger currentAllocatedSize;
@property (readonly) NSUInteger maxThreadgroupMemoryLength;
@property (readonly) NSUInteger maxBufferLength;
@property (readonly) uint64_t peerGroupID;
@property (readonly) uint32_t peerIndex;
@property (readonly) uint32_t peerCount;
@property (readonly) NSUInteger maxArgumentBufferSamplerCount;
@property (readonly) MTLReadWriteTextureTier readWriteTextureSupport;
@property (readonly) BOOL supportsDynamicLibraries;
@property (readonly) BOOL supportsFunctionPointers;
@property (readonly) BOOL supportsRaytracing;
@property (readonly) BOOL supportsPrimitiveMotionBlur;
@property (readonly) BOOL supportsShaderBarycentricCoordinates;
@property (readonly) BOOL supportsBCTextureCompression;
@property (readonly) BOOL supportsPullModelInterpolation;
@property (readonly) BOOL supportsQueryTextureLOD;
@property (readonly) BOOL supports32BitFloatFiltering;
@property (readonly) BOOL supports32BitMSAA;
@property (readonly) BOOL supportsRenderDynamicLibraries;
@property (readonly) BOOL supportsFunctionPointersFromRender;
@property (readonly) BOOL supportsRaytracingFromRender;
@property (readonly, getter=areRasterOrderGroupsSupported) BOOL rasterOrderGroupsSupported;
@property (readonly, getter=areProgrammableSamplePositionsSupported) BOOL programmableSamplePositionsSupported;
@property (readonly, getter=areBarycentricCoordsSupported) BOOL barycentricCoordsSupported;
@property (readonly, getter=isDepth24Stencil8PixelFormatSupported) BOOL depth24Stencil8PixelFormatSupported;
@property (readonly) NSUInteger maximumConcurrentCompilationTaskCount;
@property (readwrite) BOOL shouldMaximizeConcurrentCompilation;
- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily;
- (BOOL)supportsFeatureSet:(MTLFeatureSet)featureSet;
- (BOOL)supportsVertexAmplificationCount:(NSUInteger)count;
- (BOOL)supportsTextureSampleCount:(NSUInteger)sampleCount;
- (BOOL)supportsRasterizationRateMapWithLayerCount:(NSUInteger)layerCount;

- (nullable id<MTLCommandQueue>)newCommandQueue;
- (nullable id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)maxCommandBufferCount;
- (nullable id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor;

- (nullable id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (nullable id<MTLBuffer>)newBufferWithBytes:(const void *)pointer
                                      length:(NSUInteger)length
                                     options:(MTLResourceOptions)options;
- (nullable id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)pointer
                                            length:(NSUInteger)length
                                           options:(MTLResourceOptions)options
                                       deallocator:(void (^_Nullable)(void *pointer, NSUInteger length))deallocator;
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (nullable id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor;
- (nullable id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor
                                                        error:(NSError *_Nullable *_Nullable)error;

- (nullable id<MTLLibrary>)newDefaultLibrary;
- (nullable id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle *)bundle error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLLibrary>)newLibraryWithFile:(NSString *)filepath error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                                        options:(nullable MTLCompileOptions *)options
                                          error:(NSError *_Nullable *_Nullable)error;
- (void)newLibraryWithSource:(NSString *)source
                     options:(nullable MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)completionHandler;

- (nullable id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                                                      error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                options:(MTLPipelineOption)options
                             reflection:(MTLAutoreleasedComputePipelineReflection *_Nullable)reflection
                                  error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLAutoreleasedComputePipelineReflection *_Nullable)reflection
                                    error:(NSError *_Nullable *_Nullable)error;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)completionHandler;
- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                    options:(MTLPipelineOption)options
                          completionHandler:
                              (MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler;
- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:
                                (MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler;

- (nullable id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray<MTLArgumentDescriptor *> *)arguments;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferBinding:(id<MTLBufferBinding>)bufferBinding;
- (nullable id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:
                                             (MTLIndirectCommandBufferDescriptor *)descriptor
                                                                maxCommandCount:(NSUInteger)maxCount
                                                                        options:(MTLResourceOptions)options;
- (nullable id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor
                                                          error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLDynamicLibrary>)newDynamicLibrary:(id<MTLLibrary>)library error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLDynamicLibrary>)newDynamicLibraryWithURL:(NSURL *)url error:(NSError *_Nullable *_Nullable)error;
- (nullable id<MTLLogState>)newLogStateWithDescriptor:(MTLLogStateDescriptor *)descriptor
                                                error:(NSError *_Nullable *_Nullable)error;
/* nil: there are no linked functions. */
- (nullable id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)function;

@property (readonly, nullable) NSArray<id<MTLCounterSet>> *counterSets;
- (nullable id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:
                                           (MTLCounterSampleBufferDescriptor *)descriptor
                                                                      error:(NSError *_Nullable *_Nullable)error;
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)samplingPoint;
/* The same instant on the CPU's clock, in nanoseconds, and on the clock of counters. */
- (void)sampleTimestamps:(MTLTimestamp *)cpuTimestamp gpuTimestamp:(MTLTimestamp *)gpuTimestamp;
- (uint64_t)queryTimestampFrequency;

- (nullable id<MTLFence>)newFence;
- (nullable id<MTLEvent>)newEvent;
- (nullable id<MTLSharedEvent>)newSharedEvent;
- (nullable id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)sharedEventHandle;
@end

/* +1, or nil if the machine has no device. */
MTL_EXTERN id<MTLDevice> _Nullable MTLCreateSystemDefaultDevice(void) NS_RETURNS_RETAINED;
/* +1. */
MTL_EXTERN NSArray<id<MTLDevice>> *MTLCopyAllDevices(void) NS_RETURNS_RETAINED;

typedef NSString *MTLDeviceNotificationName;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasAddedNotification;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification;
MTL_EXTERN MTLDeviceNotificationName const MTLDeviceWasRemovedNotification;
typedef void (^MTLDeviceNotificationHandler)(id<MTLDevice> device, MTLDeviceNotificationName notifyName);
/* +1, the observer too. Devices neither come nor go here, so the handler is never called. */
MTL_EXTERN NSArray<id<MTLDevice>> *
MTLCopyAllDevicesWithObserver(id<NSObject> _Nullable __strong *_Nonnull observer,
                              MTLDeviceNotificationHandler handler) NS_RETURNS_RETAINED;
MTL_EXTERN void MTLRemoveDeviceObserver(id<NSObject> observer);

NS_ASSUME_NONNULL_END
#endif
