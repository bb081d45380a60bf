#ifndef SMTL_DEVICE_MODEL_H
#define SMTL_DEVICE_MODEL_H

#import "SMTLObject.h"
#import <Metal/MTLDevice.h>

/* The part of a device that answers questions about it. */
@interface SMTLDeviceModel : SMTLObject {
@public
    uint32_t _index;
    uint64_t _allocatedSize;
@private
    MTLArchitecture *_architecture;
    BOOL _maximizeConcurrentCompilation;
}
- (instancetype)initWithIndex:(uint32_t)index;
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
@end

#endif
