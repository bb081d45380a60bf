/* The devices, and the objects that they make. The objects are of every folder of the framework, and know the device by
 * its interface alone. */
#import "framework/device/SMTLDevice.h"

#include "SMTLClasses.h"
#import "framework/command/SMTLCommandQueue.h"
#import "framework/command/SMTLIndirectCommandBuffer.h"
#import "framework/device/SMTLCounterSampleBuffer.h"
#import "framework/device/SMTLLogState.h"
#import "framework/library/SMTLArgumentEncoder.h"
#import "framework/library/SMTLBinaryArchive.h"
#import "framework/library/SMTLReflection.h"
#import "framework/memory/SMTLBuffer.h"
#import "framework/memory/SMTLHeap.h"
#import "framework/memory/SMTLResidencySet.h"
#import "framework/sync/SMTLEvent.h"
#import "support/SMTLError.h"
#include "support/settings.h"
#include <pthread.h>

#define DEFAULT_COMMAND_BUFFERS 64

/* +1, made at the first call and kept for good. */
static NSArray *all_devices(void) {
    static NSArray *devices;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    NSMutableArray *made = nil;
    // GNUstep raises where a thread's first object finds no file descriptor.
    @try {
        if (devices == nil) {
            SMTLInitialiseClasses();
            made = [[NSMutableArray alloc] init];
            for (uint32_t i = 0; i < smtl_settings_get()->device_count; i++) {
                SMTLDevice *device = [[SMTLDevice alloc] initWithIndex:i];
                [made addObject:device];
                [device release];
            }
            devices = [made retain];
        }
    } @finally {
        [made release];
        pthread_mutex_unlock(&mutex);
    }
    return devices;
}

NSArray *MTLCopyAllDevices(void) { return [[NSArray alloc] initWithArray:all_devices()]; }

MTLDeviceNotificationName const MTLDeviceWasAddedNotification = @"MTLDeviceWasAddedNotification";
MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification = @"MTLDeviceRemovalRequestedNotification";
MTLDeviceNotificationName const MTLDeviceWasRemovedNotification = @"MTLDeviceWasRemovedNotification";

NSArray *MTLCopyAllDevicesWithObserver(id<NSObject> *observer, MTLDeviceNotificationHandler handler) {
    (void)handler;
    *observer = [[NSObject alloc] init];
    return MTLCopyAllDevices();
}

void MTLRemoveDeviceObserver(id<NSObject> observer) { (void)observer; }

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
    NSArray *devices = all_devices();
    if ([devices count] == 0 || !smtl_settings_get()->default_device) return nil;
    return [[devices objectAtIndex:0] retain];
}

@implementation SMTLDevice

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_DEVICE;
}

/* --- Queues and memory -------------------------------------------------------------------------------------------- */

- (id<MTLCommandQueue>)newCommandQueue {
    return [self newCommandQueueWithMaxCommandBufferCount:DEFAULT_COMMAND_BUFFERS];
}

- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)maxCommandBufferCount {
    return [self newCommandQueueWithCount:maxCommandBufferCount logState:nil];
}

- (id<MTLCommandQueue>)newCommandQueueWithDescriptor:(MTLCommandQueueDescriptor *)descriptor {
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newCommandQueueWithDescriptor:]", @"descriptor must not be nil");
    return [self newCommandQueueWithCount:[descriptor maxCommandBufferCount] logState:[descriptor logState]];
}

- (id<MTLCommandQueue>)newCommandQueueWithCount:(NSUInteger)count logState:(id<MTLLogState>)logState {
    SMTL_REQUIRE(count > 0, "-[MTLDevice newCommandQueueWithMaxCommandBufferCount:]",
                 @"maxCommandBufferCount must not be 0");
    return [[SMTLCommandQueue alloc] initWithDevice:self maxCommandBufferCount:count logState:(SMTLLogState *)logState];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    options = SMTLResolveOptions("-[MTLDevice newBufferWithLength:options:]", options, false);
    if (length == 0 || length > smtl_settings_get()->max_buffer_length) return nil;
    return [[SMTLBuffer alloc] initWithDevice:self bytes:NULL length:length options:options];
}

- (id<MTLBuffer>)newBufferWithBytes:(const void *)pointer
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options {
    const char *where = "-[MTLDevice newBufferWithBytes:length:options:]";
    options = SMTLResolveOptions(where, options, false);
    SMTL_REQUIRE(pointer != NULL, where, @"pointer must not be NULL");
    SMTL_REQUIRE(SMTLStorageModeOf(options) != MTLStorageModePrivate, where,
                 @"a private buffer cannot be made from bytes, because the CPU cannot write it");
    if (length == 0 || length > smtl_settings_get()->max_buffer_length) return nil;
    return [[SMTLBuffer alloc] initWithDevice:self bytes:pointer length:length options:options];
}

- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void *pointer, NSUInteger length))deallocator {
    const char *where = "-[MTLDevice newBufferWithBytesNoCopy:length:options:deallocator:]";
    const smtl_settings *settings = smtl_settings_get();
    options = SMTLResolveOptions(where, options, false);
    SMTL_REQUIRE(pointer != NULL, where, @"pointer must not be NULL");
    SMTL_REQUIRE(SMTLStorageModeOf(options) != MTLStorageModePrivate, where,
                 @"a private buffer cannot use the caller's memory");
    if (length == 0 || length > settings->max_buffer_length) return nil;
    if (settings->strict && ((uintptr_t)pointer % settings->page_size != 0 || length % settings->page_size != 0))
        return nil;
    return [[SMTLBuffer alloc] initWithDevice:self noCopyBytes:pointer length:length options:options
                                  deallocator:deallocator];
}

- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    const char *where = "-[MTLDevice heapBufferSizeAndAlignWithLength:options:]";
    SMTLResolveOptions(where, options, true);
    SMTL_REQUIRE(length <= [self maxBufferLength], where, @"length %lu is more than maxBufferLength",
                 (unsigned long)length);
    NSUInteger rounded = (length + SMTL_MEMORY_ALIGNMENT - 1) / SMTL_MEMORY_ALIGNMENT * SMTL_MEMORY_ALIGNMENT;
    MTLSizeAndAlign result = {rounded, SMTL_MEMORY_ALIGNMENT};
    return result;
}

- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor *)descriptor {
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newHeapWithDescriptor:]", @"descriptor must not be nil");
    return [[SMTLHeap alloc] initWithDevice:self descriptor:descriptor];
}

- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor *)descriptor error:(NSError **)error {
    SMTLStoreError(error, nil);
    return [[SMTLResidencySet alloc] initWithDevice:self descriptor:descriptor];
}

- (id<MTLLogState>)newLogStateWithDescriptor:(MTLLogStateDescriptor *)descriptor error:(NSError **)error {
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newLogStateWithDescriptor:error:]", @"descriptor must not be nil");
    return [[SMTLLogState alloc] initWithLevel:[descriptor level] bufferSize:[descriptor bufferSize] error:error];
}

/* --- Arguments and commands that outlive an encoder --------------------------------------------------------------- */

- (id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray *)arguments {
    SMTL_REQUIRE([arguments count] > 0, "-[MTLDevice newArgumentEncoderWithArguments:]",
                 @"arguments must not be empty");
    return [[SMTLArgumentEncoder alloc] initWithDevice:self descriptors:arguments];
}

- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferBinding:(id<MTLBufferBinding>)bufferBinding {
    id<MTLArgumentEncoder> encoder = SMTLNewEncoderForBinding(self, bufferBinding);
    SMTL_REQUIRE(encoder != nil, "-[MTLDevice newArgumentEncoderWithBufferBinding:]",
                 @"the binding must be of an argument buffer");
    return encoder;
}

- (id<MTLIndirectCommandBuffer>)newIndirectCommandBufferWithDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor
                                                       maxCommandCount:(NSUInteger)maxCount
                                                               options:(MTLResourceOptions)options {
    const char *where = "-[MTLDevice newIndirectCommandBufferWithDescriptor:maxCommandCount:options:]";
    SMTL_REQUIRE(descriptor != nil, where, @"descriptor must not be nil");
    options = SMTLResolveOptions(where, options, false);
    return [[SMTLIndirectCommandBuffer alloc] initWithDevice:self descriptor:descriptor count:maxCount options:options];
}

- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor *)descriptor
                                                 error:(NSError **)error {
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newBinaryArchiveWithDescriptor:error:]",
                 @"descriptor must not be nil");
    return [[SMTLBinaryArchive alloc] initWithDevice:self descriptor:descriptor error:error];
}

/* --- Counters ----------------------------------------------------------------------------------------------------- */

- (NSArray *)counterSets {
    return SMTLCounterSets();
}

- (id<MTLCounterSampleBuffer>)newCounterSampleBufferWithDescriptor:(MTLCounterSampleBufferDescriptor *)descriptor
                                                             error:(NSError **)error {
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newCounterSampleBufferWithDescriptor:error:]",
                 @"descriptor must not be nil");
    return [[SMTLCounterSampleBuffer alloc] initWithDevice:self descriptor:descriptor error:error];
}

/* Counters are sampled wherever a compute or blit encoder can be: other encoders have nothing to sample. */
- (BOOL)supportsCounterSampling:(MTLCounterSamplingPoint)samplingPoint {
    return samplingPoint == MTLCounterSamplingPointAtStageBoundary ||
           samplingPoint == MTLCounterSamplingPointAtDispatchBoundary ||
           samplingPoint == MTLCounterSamplingPointAtBlitBoundary;
}

/* The CPU is the GPU. */
- (void)sampleTimestamps:(MTLTimestamp *)cpuTimestamp gpuTimestamp:(MTLTimestamp *)gpuTimestamp {
    const MTLTimestamp now = SMTLTimestamp();
    *cpuTimestamp = now;
    *gpuTimestamp = now;
}

- (uint64_t)queryTimestampFrequency {
    return SMTL_TIMESTAMP_FREQUENCY;
}

/* --- What the software Metal has not ------------------------------------------------------------------------------ */

- (id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)function {
    (void)function;
    return nil;
}

/* --- Synchronization ---------------------------------------------------------------------------------------------- */

- (id<MTLFence>)newFence {
    return [[SMTLFence alloc] initWithDevice:self];
}

- (id<MTLEvent>)newEvent {
    return [[SMTLEvent alloc] initWithDevice:self];
}

- (id<MTLSharedEvent>)newSharedEvent {
    return [[SMTLSharedEvent alloc] initWithDevice:self];
}

/* A handle names the event itself: both ends are in this process. */
- (id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)sharedEventHandle {
    SMTL_REQUIRE(sharedEventHandle != nil, "-[MTLDevice newSharedEventWithHandle:]", @"handle must not be nil");
    return [[sharedEventHandle sharedEvent] retain];
}

@end
