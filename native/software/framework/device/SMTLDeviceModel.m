#import "SMTLDevice.h"

#include "engine/engine.h"
#include "support/statistics.h"
#include "support/settings.h"
#include <unistd.h>

#define REGISTRY_BASE 0x534d544c00000000ull /* "SMTL", then the device's number */

bool SMTLDeviceTakeMemory(SMTLDevice *device, size_t size, bool owned) {
    if (!smtl_count_allocate(size, owned, smtl_settings_get()->memory_limit)) return false;
    __atomic_fetch_add(&device->_allocatedSize, size, __ATOMIC_RELAXED);
    return true;
}

void SMTLDeviceGiveMemory(SMTLDevice *device, size_t size, bool owned) {
    __atomic_fetch_sub(&device->_allocatedSize, size, __ATOMIC_RELAXED);
    smtl_count_free(size, owned);
}

@interface MTLArchitecture (SMTL)
- (instancetype)initWithName:(NSString *)name;
@end

@implementation MTLArchitecture

@synthesize name = _name;

- (instancetype)initWithName:(NSString *)name {
    self = [super init];
    _name = [name copy];
    return self;
}

- (void)dealloc {
    [_name release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return [self retain];
}

@end

/* Subclasses answer the rest of the protocol. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wprotocol"
#pragma clang diagnostic ignored "-Wobjc-property-implementation"
@implementation SMTLDeviceModel
#pragma clang diagnostic pop

/* The names of Apple's architectures carry the generation of the GPU, which inference engines read: an A14 or M1 for
 * family 7. */
static NSString *architecture_name(void) {
    static NSString *const names[] = {@"applegpu_g13g", @"applegpu_g14g", @"applegpu_g15g", @"applegpu_g17g"};
    const smtl_settings *settings = smtl_settings_get();
    const uint32_t first = 7;
    if (!settings->unified_memory || settings->apple_family < first) return @"software";
    const uint32_t last = sizeof names / sizeof names[0] - 1;
    const uint32_t generation = settings->apple_family - first;
    return names[generation > last ? last : generation];
}

- (instancetype)initWithIndex:(uint32_t)index {
    self = [super init];
    _index = index;
    _architecture = [[MTLArchitecture alloc] initWithName:architecture_name()];
    return self;
}

- (void)dealloc {
    [_architecture release];
    [super dealloc];
}

/* --- Properties --------------------------------------------------------------------------------------------------- */

/* A new string each time, autoreleased, as on Apple's systems. */
- (NSString *)name {
    if (_index == 0) return [NSString stringWithFormat:@"%s", "Software Metal"];
    return [NSString stringWithFormat:@"Software Metal %u", _index + 1];
}

- (uint64_t)registryID {
    return REGISTRY_BASE + _index + 1;
}

- (MTLArchitecture *)architecture {
    return _architecture;
}

- (MTLSize)maxThreadsPerThreadgroup {
    const NSUInteger limit = SMTL_MAX_THREADS_PER_THREADGROUP;
    return MTLSizeMake(limit, limit, limit);
}

- (NSUInteger)maxThreadgroupMemoryLength {
    return SMTL_MAX_THREADGROUP_MEMORY;
}

- (NSUInteger)maxBufferLength {
    return smtl_settings_get()->max_buffer_length;
}

- (uint64_t)recommendedMaxWorkingSetSize {
    return smtl_settings_get()->working_set;
}

- (NSUInteger)currentAllocatedSize {
    return __atomic_load_n(&_allocatedSize, __ATOMIC_RELAXED);
}

- (BOOL)hasUnifiedMemory {
    return smtl_settings_get()->unified_memory;
}

- (BOOL)runsLanesInTurn {
    return YES;
}

- (BOOL)isLowPower {
    return NO;
}

- (BOOL)isHeadless {
    return YES;
}

- (BOOL)isRemovable {
    return NO;
}

- (MTLDeviceLocation)location {
    return [self hasUnifiedMemory] ? MTLDeviceLocationBuiltIn : MTLDeviceLocationSlot;
}

- (NSUInteger)locationNumber {
    return _index;
}

/* 0 for a built-in device, as on Apple's systems. The other kind has a bus only if the link is set. */
- (uint64_t)maxTransferRate {
    return [self hasUnifiedMemory] ? 0 : (uint64_t)smtl_settings_get()->link.bytes_per_second;
}

- (MTLArgumentBuffersTier)argumentBuffersSupport {
    return MTLArgumentBuffersTier2;
}

/* Devices of one group see each other's memory. 0: no group. */
- (uint64_t)peerGroupID {
    return smtl_settings_get()->peer_group ? REGISTRY_BASE : 0;
}

- (uint32_t)peerIndex {
    return smtl_settings_get()->peer_group ? _index : 0;
}

- (uint32_t)peerCount {
    return smtl_settings_get()->peer_group ? smtl_settings_get()->device_count : 0;
}

- (BOOL)supportsAppleFamily:(NSUInteger)number {
    const smtl_settings *settings = smtl_settings_get();
    /* A discrete GPU is not Apple's. */
    return settings->unified_memory && number <= settings->apple_family;
}

- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily {
    if (gpuFamily >= MTLGPUFamilyApple1 && gpuFamily <= MTLGPUFamilyApple10)
        return [self supportsAppleFamily:(NSUInteger)(gpuFamily - MTLGPUFamilyApple1) + 1];
    /* What a family of Apple's implies; a discrete GPU is of family Mac2. */
    const bool discrete = ![self hasUnifiedMemory];
    switch (gpuFamily) {
    case MTLGPUFamilyCommon1: return discrete || [self supportsAppleFamily:2];
    case MTLGPUFamilyCommon2: return discrete || [self supportsAppleFamily:3];
    case MTLGPUFamilyMetal3: return discrete || [self supportsAppleFamily:6];
    case MTLGPUFamilyCommon3:
    case MTLGPUFamilyMac1:
    case MTLGPUFamilyMac2: return discrete || [self supportsAppleFamily:7];
    default: return NO;
    }
}

/* The feature sets of macOS that ask nothing of textures. */
- (BOOL)supportsFeatureSet:(MTLFeatureSet)featureSet {
    switch (featureSet) {
    case MTLFeatureSet_macOS_GPUFamily1_v1:
    case MTLFeatureSet_macOS_GPUFamily1_v2:
    case MTLFeatureSet_macOS_GPUFamily1_v3:
    case MTLFeatureSet_macOS_GPUFamily1_v4:
    case MTLFeatureSet_macOS_GPUFamily2_v1: return [self supportsFamily:MTLGPUFamilyMac2];
    default: return NO;
    }
}

- (BOOL)supportsFunctionPointers {
    return [self supportsFamily:MTLGPUFamilyApple6] || [self supportsFamily:MTLGPUFamilyMac2];
}

- (BOOL)supportsDynamicLibraries {
    return [self supportsFunctionPointers];
}

/* --- What the software Metal has not ------------------------------------------------------------------------------ */

- (NSUInteger)maxArgumentBufferSamplerCount {
    return 0;
}

- (MTLReadWriteTextureTier)readWriteTextureSupport {
    return MTLReadWriteTextureTierNone;
}

#define ANSWERS_NO(question) \
    -(BOOL)question {        \
        return NO;           \
    }

ANSWERS_NO(supportsRaytracing)
ANSWERS_NO(supportsPrimitiveMotionBlur)
ANSWERS_NO(supportsShaderBarycentricCoordinates)
ANSWERS_NO(supportsBCTextureCompression)
ANSWERS_NO(supportsPullModelInterpolation)
ANSWERS_NO(supportsQueryTextureLOD)
ANSWERS_NO(supports32BitFloatFiltering)
ANSWERS_NO(supports32BitMSAA)
ANSWERS_NO(supportsRenderDynamicLibraries)
ANSWERS_NO(supportsFunctionPointersFromRender)
ANSWERS_NO(supportsRaytracingFromRender)
ANSWERS_NO(areRasterOrderGroupsSupported)
ANSWERS_NO(areProgrammableSamplePositionsSupported)
ANSWERS_NO(areBarycentricCoordsSupported)
ANSWERS_NO(isDepth24Stencil8PixelFormatSupported)

#define ANSWERS_NO_FOR(question)          \
    -(BOOL)question : (NSUInteger)count { \
        (void)count;                      \
        return NO;                        \
    }

ANSWERS_NO_FOR(supportsVertexAmplificationCount)
ANSWERS_NO_FOR(supportsTextureSampleCount)
ANSWERS_NO_FOR(supportsRasterizationRateMapWithLayerCount)

/* --- Compilation -------------------------------------------------------------------------------------------------- */

/* Compilers run side by side, each as a process of its own. */
- (NSUInteger)maximumConcurrentCompilationTaskCount {
    return (NSUInteger)sysconf(_SC_NPROCESSORS_ONLN);
}

- (BOOL)shouldMaximizeConcurrentCompilation {
    return __atomic_load_n(&_maximizeConcurrentCompilation, __ATOMIC_RELAXED);
}

- (void)setShouldMaximizeConcurrentCompilation:(BOOL)maximize {
    __atomic_store_n(&_maximizeConcurrentCompilation, maximize, __ATOMIC_RELAXED);
}

@end
