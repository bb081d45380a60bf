#import "SMTLDevice.h"

#include "../engine/engine.h"
#import "SMTLBuffer.h"
#import "SMTLCommandQueue.h"
#include "SMTLConfig.h"
#include "SMTLCounts.h"
#import "SMTLError.h"
#import "SMTLEvent.h"
#import "SMTLHeap.h"
#import "SMTLResidencySet.h"
#include "SMTLRuntime.h"
#include <pthread.h>

#define DEFAULT_COMMAND_BUFFERS 64
#define REGISTRY_BASE 0x534d544c00000000ull /* "SMTL", then the device's number */

bool SMTLDeviceTakeMemory(SMTLDevice *device, size_t size, bool owned)
{
    if (!smtl_count_allocate(size, owned ? smtl_config_get()->memory_limit : 0)) {
        return false;
    }
    __atomic_fetch_add(&device->_allocatedSize, size, __ATOMIC_RELAXED);
    return true;
}

void SMTLDeviceGiveMemory(SMTLDevice *device, size_t size)
{
    __atomic_fetch_sub(&device->_allocatedSize, size, __ATOMIC_RELAXED);
    smtl_count_free(size);
}

/* +1, made at the first call and kept for good. */
static NSArray *all_devices(void)
{
    static NSArray *devices;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (devices == nil) {
        SMTLInitialiseClasses();
        NSMutableArray *made = [[NSMutableArray alloc] init];
        for (uint32_t i = 0; i < smtl_config_get()->device_count; i++) {
            SMTLDevice *device = [[SMTLDevice alloc] init];
            device->_index = i;
            [made addObject:device];
            [device release];
        }
        devices = made;
    }
    pthread_mutex_unlock(&mutex);
    return devices;
}

NSArray *MTLCopyAllDevices(void)
{
    return [[NSArray alloc] initWithArray:all_devices()];
}

id<MTLDevice> MTLCreateSystemDefaultDevice(void)
{
    NSArray *devices = all_devices();
    if ([devices count] == 0 || !smtl_config_get()->default_device) {
        return nil;
    }
    return [[devices objectAtIndex:0] retain];
}

@interface MTLArchitecture (SMTL)
- (instancetype)initWithName:(NSString *)name;
@end

@implementation MTLArchitecture

@synthesize name = _name;

- (instancetype)initWithName:(NSString *)name
{
    self = [super init];
    _name = [name copy];
    return self;
}

- (void)dealloc
{
    [_name release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone
{
    (void)zone;
    return [self retain];
}

@end

@implementation SMTLDevice

+ (smtl_object_class)objectClass
{
    return SMTL_OBJECT_DEVICE;
}

- (instancetype)init
{
    self = [super init];
    _architecture = [[MTLArchitecture alloc] initWithName:@"software"];
    return self;
}

- (void)dealloc
{
    [_architecture release];
    [super dealloc];
}

/* --- Properties --------------------------------------------------------------------------------------------------- */

/* A new string each time, autoreleased, as on Apple's systems. */
- (NSString *)name
{
    if (_index == 0) {
        return [NSString stringWithFormat:@"%s", "Software Metal"];
    }
    return [NSString stringWithFormat:@"Software Metal %u", _index + 1];
}

- (uint64_t)registryID
{
    return REGISTRY_BASE + _index + 1;
}

- (MTLArchitecture *)architecture
{
    return _architecture;
}

- (MTLSize)maxThreadsPerThreadgroup
{
    const NSUInteger limit = SMTL_MAX_THREADS_PER_THREADGROUP;
    return MTLSizeMake(limit, limit, limit);
}

- (NSUInteger)maxThreadgroupMemoryLength
{
    return SMTL_MAX_THREADGROUP_MEMORY;
}

- (NSUInteger)maxBufferLength
{
    return smtl_config_get()->max_buffer_length;
}

- (uint64_t)recommendedMaxWorkingSetSize
{
    return smtl_config_get()->working_set;
}

- (NSUInteger)currentAllocatedSize
{
    return __atomic_load_n(&_allocatedSize, __ATOMIC_RELAXED);
}

- (BOOL)hasUnifiedMemory
{
    return smtl_config_get()->unified_memory;
}

- (BOOL)isLowPower
{
    return NO;
}

- (BOOL)isHeadless
{
    return YES;
}

- (BOOL)isRemovable
{
    return NO;
}

- (MTLDeviceLocation)location
{
    return [self hasUnifiedMemory] ? MTLDeviceLocationBuiltIn : MTLDeviceLocationSlot;
}

- (NSUInteger)locationNumber
{
    return _index;
}

/* 0 for a built-in device, as on Apple's systems; there is no bus to measure for the other kind either. */
- (uint64_t)maxTransferRate
{
    return 0;
}

- (MTLArgumentBuffersTier)argumentBuffersSupport
{
    return MTLArgumentBuffersTier2;
}

- (uint64_t)peerGroupID
{
    return 0;
}

- (uint32_t)peerIndex
{
    return 0;
}

- (uint32_t)peerCount
{
    return 0;
}

- (BOOL)supportsFamily:(MTLGPUFamily)gpuFamily
{
    const smtl_config *config = smtl_config_get();
    if (gpuFamily >= MTLGPUFamilyApple1 && gpuFamily <= MTLGPUFamilyApple10) {
        /* A discrete GPU is not Apple's. */
        return config->unified_memory && (NSUInteger)(gpuFamily - MTLGPUFamilyApple1) < config->apple_family;
    }
    switch (gpuFamily) {
    case MTLGPUFamilyMac1:
    case MTLGPUFamilyMac2:
    case MTLGPUFamilyCommon1:
    case MTLGPUFamilyCommon2:
    case MTLGPUFamilyCommon3:
    case MTLGPUFamilyMetal3:
        return YES;
    default:
        return NO;
    }
}

/* --- Queues and memory -------------------------------------------------------------------------------------------- */

- (id<MTLCommandQueue>)newCommandQueue
{
    return [self newCommandQueueWithMaxCommandBufferCount:DEFAULT_COMMAND_BUFFERS];
}

- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)maxCommandBufferCount
{
    SMTL_REQUIRE(maxCommandBufferCount > 0, "-[MTLDevice newCommandQueueWithMaxCommandBufferCount:]",
                 @"maxCommandBufferCount must not be 0");
    return [[SMTLCommandQueue alloc] initWithDevice:self maxCommandBufferCount:maxCommandBufferCount];
}

- (id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor
{
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newCommandQueueWithDescriptor:]", @"descriptor must not be nil");
    return [self newCommandQueueWithMaxCommandBufferCount:[descriptor maxCommandBufferCount]];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options
{
    options = SMTLResolveOptions("-[MTLDevice newBufferWithLength:options:]", options, false);
    if (length == 0 || length > smtl_config_get()->max_buffer_length) {
        return nil;
    }
    return [[SMTLBuffer alloc] initWithDevice:self bytes:NULL length:length options:options];
}

- (id<MTLBuffer>)newBufferWithBytes:(const void *)pointer
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options
{
    const char *where = "-[MTLDevice newBufferWithBytes:length:options:]";
    options = SMTLResolveOptions(where, options, false);
    SMTL_REQUIRE(pointer != NULL, where, @"pointer must not be NULL");
    SMTL_REQUIRE(SMTLStorageModeOf(options) != MTLStorageModePrivate, where,
                 @"private storage has no bytes that the CPU could set");
    if (length == 0 || length > smtl_config_get()->max_buffer_length) {
        return nil;
    }
    return [[SMTLBuffer alloc] initWithDevice:self bytes:pointer length:length options:options];
}

- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void *pointer, NSUInteger length))deallocator
{
    const char *where = "-[MTLDevice newBufferWithBytesNoCopy:length:options:deallocator:]";
    const smtl_config *config = smtl_config_get();
    options = SMTLResolveOptions(where, options, false);
    SMTL_REQUIRE(pointer != NULL, where, @"pointer must not be NULL");
    SMTL_REQUIRE(SMTLStorageModeOf(options) != MTLStorageModePrivate, where,
                 @"private storage cannot be memory of the caller's");
    if (length == 0 || length > config->max_buffer_length) {
        return nil;
    }
    if (config->strict && ((uintptr_t)pointer % config->page_size != 0 || length % config->page_size != 0)) {
        return nil;
    }
    return [[SMTLBuffer alloc] initWithDevice:self
                                  noCopyBytes:pointer
                                       length:length
                                      options:options
                                  deallocator:deallocator];
}

- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options
{
    SMTLResolveOptions("-[MTLDevice heapBufferSizeAndAlignWithLength:options:]", options, true);
    NSUInteger rounded = (length + SMTL_MEMORY_ALIGNMENT - 1) / SMTL_MEMORY_ALIGNMENT * SMTL_MEMORY_ALIGNMENT;
    MTLSizeAndAlign result = {rounded, SMTL_MEMORY_ALIGNMENT};
    return result;
}

- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor
{
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newHeapWithDescriptor:]", @"descriptor must not be nil");
    return [[SMTLHeap alloc] initWithDevice:self descriptor:descriptor];
}

- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor error:(NSError **)error
{
    SMTLStoreError(error, nil);
    return [[SMTLResidencySet alloc] initWithDevice:self descriptor:descriptor];
}

/* --- Synchronization ---------------------------------------------------------------------------------------------- */

- (id<MTLFence>)newFence
{
    return [[SMTLFence alloc] initWithDevice:self];
}

- (id<MTLEvent>)newEvent
{
    return [[SMTLEvent alloc] initWithDevice:self];
}

- (id<MTLSharedEvent>)newSharedEvent
{
    return [[SMTLSharedEvent alloc] initWithDevice:self];
}

/* A handle names the event itself: both ends are in this process. */
- (id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)sharedEventHandle
{
    SMTL_REQUIRE(sharedEventHandle != nil, "-[MTLDevice newSharedEventWithHandle:]", @"handle must not be nil");
    return [[sharedEventHandle sharedEvent] retain];
}

@end
