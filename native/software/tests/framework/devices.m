/* Several devices in one peer group, and what a device says of itself. */
#include "framework_kernels.h"

static NSArray *devices;

static void test_peers(void) {
    CHECK([devices count] == 3);
    for (NSUInteger i = 0; i < 3; i++) {
        id<MTLDevice> one = [devices objectAtIndex:i];
        CHECK([one peerGroupID] == [device peerGroupID] && [one peerGroupID] != 0);
        CHECK([one peerIndex] == i && [one peerCount] == 3 && [one locationNumber] == i);
        CHECK([one registryID] != 0 && [one maxTransferRate] == 0);
    }
    CHECK([[[devices objectAtIndex:1] name] isEqual:[device name]] == NO);
    CHECK([[devices objectAtIndex:1] registryID] != [device registryID]);
}

/* Blits of another device read memory of this one; nothing else does. */
static void test_remote_views(void) {
    id<MTLDevice> other = [devices objectAtIndex:1];
    id<MTLBuffer> values = make_ints(16, 5, 1);
    id<MTLBuffer> hidden = [device newBufferWithLength:64 options:MTLResourceStorageModePrivate];
    id<MTLCommandBuffer> fill = [queue commandBuffer];
    id<MTLBlitCommandEncoder> blit = [fill blitCommandEncoder];
    [blit copyFromBuffer:values sourceOffset:0 toBuffer:hidden destinationOffset:0 size:64];
    [blit endEncoding];
    [fill commit];
    [fill waitUntilCompleted];

    const NSUInteger allocated = [other currentAllocatedSize];
    id<MTLBuffer> view = [hidden newRemoteBufferViewForDevice:other];
    CHECK([view device] == other && [view remoteStorageBuffer] == hidden && [hidden remoteStorageBuffer] == nil);
    CHECK([view length] == 64 && [view contents] == NULL && [other currentAllocatedSize] == allocated);
    [hidden release];
    id<MTLBuffer> copy = [other newBufferWithLength:64 options:0];
    id<MTLCommandQueue> other_queue = [other newCommandQueue];
    id<MTLCommandBuffer> read = [other_queue commandBuffer];
    blit = [read blitCommandEncoder];
    CHECK_RAISES("not to", [blit copyFromBuffer:values sourceOffset:0 toBuffer:copy destinationOffset:0 size:64]);
    [blit copyFromBuffer:view sourceOffset:0 toBuffer:copy destinationOffset:0 size:64];
    CHECK_RAISES("remote view", [blit copyFromBuffer:copy sourceOffset:0 toBuffer:view destinationOffset:0 size:64]);
    CHECK_RAISES("remote view", [blit fillBuffer:view range:NSMakeRange(0, 64) value:0]);
    [blit endEncoding];
    id<MTLComputeCommandEncoder> kernels = [read computeCommandEncoder];
    CHECK_RAISES("remote view", [kernels setBuffer:view offset:0 atIndex:0]);
    [kernels endEncoding];
    [read commit];
    [read waitUntilCompleted];
    CHECK(are_ints(copy, 5, 1));
    CHECK_RAISES("only a private buffer", [values newRemoteBufferViewForDevice:other]);
    CHECK_RAISES("not itself a view", [view newRemoteBufferViewForDevice:device]);
    CHECK_RAISES("device itself", [values newRemoteBufferViewForDevice:device]);
    [other_queue release];
    [copy release];
    [view release];
    [values release];
}

/* Only shared events and remote views work across devices. */
static void test_objects_of_another_device(void) {
    id<MTLDevice> other = [devices objectAtIndex:1];
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:4096];
    id<MTLHeap> heap = [other newHeapWithDescriptor:descriptor];
    id<MTLBuffer> values = [other newBufferWithLength:64 options:0];
    id<MTLEvent> event = [other newEvent];
    id<MTLSharedEvent> shared = [other newSharedEvent];
    MTLResidencySetDescriptor *set_descriptor = [[[MTLResidencySetDescriptor alloc] init] autorelease];
    id<MTLResidencySet> set = [device newResidencySetWithDescriptor:set_descriptor error:NULL];
    CHECK_RAISES("allocation 0 belongs to another device", [set addAllocation:values]);
    CHECK_RAISES("allocation 0 belongs to another device", [set addAllocation:heap]);
    CHECK([[set allAllocations] count] == 0);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    CHECK_RAISES("the event belongs to another device", [buffer encodeSignalEvent:event value:1]);
    CHECK_RAISES("the event belongs to another device", [buffer encodeWaitForEvent:event value:0]);
    [buffer encodeSignalEvent:shared value:1];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    CHECK_RAISES("heap 0 belongs to another device", [encoder useHeap:heap]);
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([shared signaledValue] == 1);
    for (id object in [NSArray arrayWithObjects:set, shared, event, values, heap, nil]) [object release];
}

static void test_model(void) {
    CHECK([device supportsFamily:MTLGPUFamilyApple7] && ![device supportsFamily:MTLGPUFamilyApple8]);
    CHECK([device supportsFamily:MTLGPUFamilyCommon3] && [device supportsFamily:MTLGPUFamilyMac2]);
    /* By number, as engines write families that are older than the names. */
    CHECK([device supportsFamily:(MTLGPUFamily)5001] && ![device supportsFamily:(MTLGPUFamily)5002]);
    CHECK([device supportsFamily:(MTLGPUFamily)3001] && ![device supportsFamily:(MTLGPUFamily)9999]);
    CHECK([device supportsFeatureSet:MTLFeatureSet_macOS_GPUFamily2_v1]);
    CHECK(![device supportsFeatureSet:MTLFeatureSet_iOS_GPUFamily1_v1]);
    CHECK([[[device architecture] name] isEqual:@"applegpu_g13g"]);
    CHECK([device argumentBuffersSupport] == MTLArgumentBuffersTier2);
    CHECK([device readWriteTextureSupport] == MTLReadWriteTextureTierNone);
    CHECK([device supportsDynamicLibraries] && ![device supportsRaytracing] && [device supportsFunctionPointers]);
    CHECK([device maximumConcurrentCompilationTaskCount] > 0);
    CHECK(![device shouldMaximizeConcurrentCompilation]);
    [device setShouldMaximizeConcurrentCompilation:YES];
    CHECK([device shouldMaximizeConcurrentCompilation]);
    [device setShouldMaximizeConcurrentCompilation:NO];
}

/* Calls to what the software Metal lacks fail with an error of Metal's. */
static void test_absent(void) {
    NSError *error = nil;
    id<MTLLibrary> library = make_library();
    id<MTLFunction> function = [library newFunctionWithName:@"add"];
    CHECK([device functionHandleWithFunction:function] == nil);
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function];
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [descriptor setLinkedFunctions:linked];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:MTLPipelineOptionNone
                                                                              reflection:NULL
                                                                                   error:&error];
    CHECK(pipeline != nil && error == nil);
    CHECK([pipeline functionHandleWithFunction:function] == nil);
    [linked setBinaryFunctions:[NSArray arrayWithObject:function]];
    [descriptor setLinkedFunctions:linked];
    CHECK([device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone reflection:NULL
                                                  error:&error] == nil);
    CHECK([error code] == MTLLibraryErrorUnsupported);
    [pipeline release];
    [function release];
    [library release];
}

/* @available names Apple's systems; on any other system its `*` counts. */
static void test_availability(void) {
    BOOL available = NO;
    if (@available(macOS 99.0, iOS 99.0, *)) available = YES;
    CHECK(available);
}

static void test_observer(void) {
    id<NSObject> observer = nil;
    NSArray *observed = MTLCopyAllDevicesWithObserver(&observer, ^(id<MTLDevice> changed, NSString *name) {
        (void)changed;
        CHECK([name length] == 0); /* never called */
    });
    CHECK([observed isEqual:devices] && observer != nil);
    CHECK(![MTLDeviceWasAddedNotification isEqual:MTLDeviceWasRemovedNotification]);
    MTLRemoveDeviceObserver(observer);
    [observer release];
    [observed release];
}

int main(void) {
    setenv("SOFTWARE_METAL_DEVICES", "3", 1);
    setenv("SOFTWARE_METAL_PEERS", "1", 1);
    @autoreleasepool {
        devices = MTLCopyAllDevices();
        device = [devices objectAtIndex:0];
        queue = [device newCommandQueue];
        RUN(test_peers);
        RUN(test_remote_views);
        RUN(test_objects_of_another_device);
        RUN(test_model);
        RUN(test_absent);
        RUN(test_availability);
        RUN(test_observer);
        [queue release];
        [devices release];
    }
    return checks_report();
}
