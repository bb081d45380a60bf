/* Buffers and heaps: storage modes, contents, accounting, limits. */
#include "framework_test.h"

#include <sys/mman.h>

static id<MTLDevice> device;

static void test_shared(void) {
    static const NSUInteger lengths[] = {1, 255, 256, 4095, 65535, 65536, 65537, 1 << 20, (16 << 20) + 3};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        NSUInteger before = [device currentAllocatedSize];
        id<MTLBuffer> buffer = [device newBufferWithLength:lengths[i] options:MTLResourceStorageModeShared];
        CHECK([buffer length] == lengths[i]);
        CHECK([buffer allocatedSize] >= lengths[i]);
        CHECK([device currentAllocatedSize] == before + [buffer allocatedSize]);
        CHECK((uintptr_t)[buffer contents] % 256 == 0);
        CHECK(lengths[i] < 65536 || (uintptr_t)[buffer contents] % 4096 == 0);
        CHECK(all_bytes([buffer contents], lengths[i], 0));
        memset([buffer contents], 1, lengths[i]);
        CHECK([buffer gpuAddress] == (uintptr_t)[buffer contents]);
        [buffer release];
        CHECK([device currentAllocatedSize] == before);
    }
}

static void test_properties(void) {
    MTLResourceOptions options =
        MTLResourceStorageModePrivate | MTLResourceHazardTrackingModeUntracked | MTLResourceCPUCacheModeWriteCombined;
    id<MTLBuffer> buffer = [device newBufferWithLength:100 options:options];
    CHECK([buffer storageMode] == MTLStorageModePrivate);
    CHECK([buffer cpuCacheMode] == MTLCPUCacheModeWriteCombined);
    CHECK([buffer hazardTrackingMode] == MTLHazardTrackingModeUntracked);
    CHECK([buffer resourceOptions] == options);
    CHECK([buffer contents] == NULL);
    CHECK([buffer gpuAddress] != 0);
    CHECK([buffer device] == device);
    CHECK([buffer heap] == nil && [buffer heapOffset] == 0);
    CHECK([buffer setPurgeableState:MTLPurgeableStateKeepCurrent] == MTLPurgeableStateNonVolatile);
    CHECK([buffer setPurgeableState:MTLPurgeableStateVolatile] == MTLPurgeableStateNonVolatile);
    CHECK([buffer setPurgeableState:MTLPurgeableStateKeepCurrent] == MTLPurgeableStateVolatile);
    CHECK([buffer setPurgeableState:MTLPurgeableStateNonVolatile] == MTLPurgeableStateVolatile);
    CHECK([buffer label] == nil);
    NSMutableString *label = [NSMutableString stringWithString:@"weights"];
    [buffer setLabel:label];
    [label appendString:@" changed"];
    CHECK([[buffer label] isEqual:@"weights"]);
    [buffer release];

    id<MTLBuffer> plain = [device newBufferWithLength:100 options:0];
    CHECK([plain storageMode] == MTLStorageModeShared);
    CHECK([plain hazardTrackingMode] == MTLHazardTrackingModeTracked);
    [plain release];
}

static void test_bytes(void) {
    uint8_t bytes[1000];
    memset(bytes, 7, sizeof bytes);
    id<MTLBuffer> buffer = [device newBufferWithBytes:bytes length:sizeof bytes options:0];
    memset(bytes, 8, sizeof bytes);
    CHECK(all_bytes([buffer contents], sizeof bytes, 7));
    [buffer release];
}

static void test_no_copy(void) {
    static uint8_t memory[8192] __attribute__((aligned(4096)));
    __block int calls = 0;
    __block void *given = NULL;
    __block NSUInteger given_length = 0;
    NSUInteger before = [device currentAllocatedSize];
    id<MTLBuffer> buffer = [device newBufferWithBytesNoCopy:memory length:sizeof memory
                                                    options:MTLResourceStorageModeShared
                                                deallocator:^(void *pointer, NSUInteger length) {
                                                    calls++;
                                                    given = pointer;
                                                    given_length = length;
                                                }];
    CHECK([buffer contents] == memory);
    CHECK([device currentAllocatedSize] == before + sizeof memory);
    [buffer retain];
    [buffer release];
    CHECK(calls == 0);
    [buffer release];
    CHECK(calls == 1 && given == memory && given_length == sizeof memory);
    CHECK([device currentAllocatedSize] == before);

    /* A buffer without a deallocator that does not begin at a page. */
    buffer = [device newBufferWithBytesNoCopy:memory + 3 length:100 options:0 deallocator:nil];
    CHECK([buffer contents] == memory + 3);
    [buffer release];
    /* A buffer that was not made leaves the memory to the caller. */
    smtl_inject_allocation_failure(1);
    CHECK([device newBufferWithBytesNoCopy:memory length:100 options:0 deallocator:^(void *pointer, NSUInteger length) {
              (void)pointer;
              (void)length;
              calls++;
          }] == nil);
    CHECK(calls == 1);
}

static void test_limits(void) {
    CHECK([device newBufferWithLength:0 options:0] == nil);
    CHECK([device newBufferWithLength:[device maxBufferLength] + 1 options:0] == nil);
    CHECK([device newBufferWithLength:NSUIntegerMax options:0] == nil);
    CHECK_RAISES("must not be NULL", [device newBufferWithBytes:(void *_Nonnull)NULL length:4 options:0]);
    CHECK_RAISES("a private buffer cannot", [device newBufferWithBytes:"abcd" length:4
                                                               options:MTLResourceStorageModePrivate]);
    CHECK_RAISES("storage mode 3", [device newBufferWithLength:4 options:MTLResourceStorageModeMemoryless]);
    CHECK_RAISES("unknown resource options", [device newBufferWithLength:4 options:1 << 20]);
    CHECK_RAISES("unknown hazard tracking mode 3", [device newBufferWithLength:4
                                                                       options:MTLResourceHazardTrackingModeMask]);
    /* All buffers together have no more memory than the machine. An allocation that fails takes none. */
    NSUInteger before = [device currentAllocatedSize];
    NSMutableArray *held = [NSMutableArray array];
    id<MTLBuffer> buffer = nil;
    while ([held count] < 100 && (buffer = [device newBufferWithLength:[device maxBufferLength] options:0]) != nil) {
        [held addObject:buffer];
        [buffer release];
    }
    CHECK([held count] >= 1 && [held count] < 100);
    CHECK([device currentAllocatedSize] == before + [held count] * [[held objectAtIndex:0] allocatedSize]);
    [held removeAllObjects];
    CHECK([device currentAllocatedSize] == before);
    /* The host's memory is counted, but none of theirs. */
    const NSUInteger length = [device maxBufferLength];
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    for (int i = 0; i < 4; i++) {
        buffer = [device newBufferWithBytesNoCopy:memory length:length options:0 deallocator:nil];
        CHECK(buffer != nil);
        [held addObject:buffer];
        [buffer release];
    }
    CHECK([device currentAllocatedSize] == before + 4 * length);
    buffer = [device newBufferWithLength:length options:0];
    CHECK(buffer != nil);
    [buffer release];
    [held removeAllObjects];
    CHECK([device currentAllocatedSize] == before && munmap(memory, length) == 0);
}

static void test_automatic_heap(void) {
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:64 << 10];
    [descriptor setStorageMode:MTLStorageModeShared];
    NSUInteger before = [device currentAllocatedSize];
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    CHECK([heap size] == 64 << 10 && [heap usedSize] == 0);
    CHECK([device currentAllocatedSize] == before + [heap currentAllocatedSize]);
    CHECK([heap maxAvailableSizeWithAlignment:256] == 64 << 10);
    MTLSizeAndAlign need = [device heapBufferSizeAndAlignWithLength:1000 options:MTLResourceStorageModeShared];
    CHECK(need.size == 1024 && need.align == 256);
    CHECK_RAISES("more than maxBufferLength", [device heapBufferSizeAndAlignWithLength:NSUIntegerMax - 4 options:0]);
    id<MTLBuffer> first = [heap newBufferWithLength:1000 options:MTLResourceStorageModeShared];
    id<MTLBuffer> second = [heap newBufferWithLength:40 << 10 options:MTLResourceStorageModeShared];
    CHECK([heap usedSize] == 1024 + (40 << 10));
    @autoreleasepool {
        CHECK([first heap] == heap && [second heapOffset] == 1024);
    }
    CHECK([first hazardTrackingMode] == MTLHazardTrackingModeUntracked);
    CHECK([heap newBufferWithLength:40 << 10 options:MTLResourceStorageModeShared] == nil);
    memset([first contents], 1, 1000);
    memset([second contents], 2, 40 << 10);
    CHECK(all_bytes([first contents], 1000, 1));
    [first release];
    [second makeAliasable];
    CHECK([second isAliasable] && [heap usedSize] == 0);
    CHECK([heap maxAvailableSizeWithAlignment:256] == 64 << 10);
    id<MTLBuffer> whole = [heap newBufferWithLength:64 << 10 options:MTLResourceStorageModeShared];
    CHECK(whole != nil);
    [second release];
    CHECK([heap usedSize] == 64 << 10);
    /* Buffers keep their heap alive. */
    [heap release];
    memset([whole contents], 3, 64 << 10);
    @autoreleasepool {
        CHECK_RAISES("differs from the heap's", [[whole heap] newBufferWithLength:16
                                                                          options:MTLResourceStorageModePrivate]);
    }
    [whole release];
    CHECK([device currentAllocatedSize] == before);
}

/* A heap's buffers have its modes. */
static void test_heap_modes(void) {
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:64 << 10];
    [descriptor setStorageMode:MTLStorageModeShared];
    [descriptor setHazardTrackingMode:MTLHazardTrackingModeTracked];
    id<MTLHeap> tracked = [device newHeapWithDescriptor:descriptor];
    [descriptor setHazardTrackingMode:MTLHazardTrackingModeDefault];
    id<MTLHeap> untracked = [device newHeapWithDescriptor:descriptor];
    [descriptor setCpuCacheMode:MTLCPUCacheModeWriteCombined];
    [descriptor setType:MTLHeapTypePlacement];
    id<MTLHeap> combined = [device newHeapWithDescriptor:descriptor];
    id<MTLBuffer> first = [tracked newBufferWithLength:256 options:MTLResourceStorageModeShared];
    id<MTLBuffer> second = [tracked newBufferWithLength:256 options:MTLResourceHazardTrackingModeTracked];
    id<MTLBuffer> third = [combined newBufferWithLength:256 options:MTLResourceCPUCacheModeWriteCombined offset:0];
    CHECK([tracked hazardTrackingMode] == MTLHazardTrackingModeTracked);
    CHECK([first hazardTrackingMode] == MTLHazardTrackingModeTracked);
    CHECK([second hazardTrackingMode] == MTLHazardTrackingModeTracked);
    CHECK([third hazardTrackingMode] == MTLHazardTrackingModeUntracked);
    CHECK([third cpuCacheMode] == MTLCPUCacheModeWriteCombined);
    id<MTLBuffer> fourth = [tracked newBufferWithLength:256 options:MTLResourceHazardTrackingModeUntracked];
    CHECK([fourth hazardTrackingMode] == MTLHazardTrackingModeUntracked);
    CHECK_RAISES("a heap that is not tracked holds no tracked resource",
                 [untracked newBufferWithLength:256 options:MTLResourceHazardTrackingModeTracked]);
    CHECK_RAISES("CPU cache mode 1 differs from the heap's 0",
                 [untracked newBufferWithLength:256 options:MTLResourceCPUCacheModeWriteCombined]);
    CHECK_RAISES("CPU cache mode 0 differs from the heap's 1", [combined newBufferWithLength:256 options:0 offset:0]);
    /* The cache mode of private memory means nothing. */
    [descriptor setStorageMode:MTLStorageModePrivate];
    id<MTLHeap> private = [device newHeapWithDescriptor:descriptor];
    id<MTLBuffer> fifth = [private newBufferWithLength:256 options:MTLResourceStorageModePrivate offset:0];
    CHECK(fifth != nil);
    for (id object in
         [NSArray arrayWithObjects:first, second, third, fourth, fifth, tracked, untracked, combined, private, nil])
        [object release];
}

/* What a heap says it has room for is a length that it gives. */
static void test_heap_of_odd_size(void) {
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setStorageMode:MTLStorageModeShared];
    for (NSUInteger size = 1; size < 3000; size += 333) {
        [descriptor setSize:size];
        id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
        CHECK([heap size] >= size);
        id<MTLBuffer> first = [heap newBufferWithLength:1 options:0];
        NSUInteger left = [heap maxAvailableSizeWithAlignment:256];
        id<MTLBuffer> rest = left > 0 ? [heap newBufferWithLength:left options:0] : nil;
        CHECK(first != nil && (left == 0 || rest != nil) && [heap maxAvailableSizeWithAlignment:256] == 0);
        [rest release];
        [first release];
        [heap release];
    }
}

static void test_placement_heap(void) {
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:4096];
    [descriptor setType:MTLHeapTypePlacement];
    [descriptor setStorageMode:MTLStorageModeShared];
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    id<MTLBuffer> first = [heap newBufferWithLength:1024 options:0 offset:0];
    id<MTLBuffer> alias = [heap newBufferWithLength:512 options:0 offset:512];
    memset([first contents], 9, 1024);
    CHECK(all_bytes([alias contents], 512, 9));
    id<MTLBuffer> odd = [heap newBufferWithLength:1 options:0 offset:2048];
    CHECK([heap usedSize] == 1024 + 512 + 256);
    CHECK_RAISES("multiple of 256", [heap newBufferWithLength:16 options:0 offset:8]);
    CHECK_RAISES("exceed the heap", [heap newBufferWithLength:2048 options:0 offset:2304]);
    CHECK_RAISES("needs an offset", [heap newBufferWithLength:16 options:0]);
    CHECK([heap usedSize] == 1024 + 512 + 256);
    [odd makeAliasable];
    [first release];
    CHECK([heap usedSize] == 512 + 256);
    [alias release];
    [odd release];
    CHECK([heap usedSize] == 0);
    [heap release];
    [descriptor setSize:0];
    CHECK_RAISES("must not be 0", [device newHeapWithDescriptor:descriptor]);
    for (NSUInteger less = 0; less < 5000; less += 250) {
        [descriptor setSize:NSUIntegerMax - less];
        CHECK([device newHeapWithDescriptor:descriptor] == nil);
    }
}

static void test_device(void) {
    CHECK([[device name] isEqual:@"Software Metal"]);
    CHECK([device registryID] != 0);
    CHECK([device hasUnifiedMemory]);
    CHECK([device location] == MTLDeviceLocationBuiltIn);
    CHECK([device supportsFamily:MTLGPUFamilyApple7] && ![device supportsFamily:MTLGPUFamilyApple8]);
    CHECK([device supportsFamily:MTLGPUFamilyMetal3] && ![device supportsFamily:MTLGPUFamilyMetal4]);
    CHECK([device supportsFamily:MTLGPUFamilyCommon3] && ![device supportsFamily:(MTLGPUFamily)9999]);
    CHECK([device maxThreadsPerThreadgroup].width == 1024);
    CHECK([device maxThreadgroupMemoryLength] == 32768);
    CHECK([device recommendedMaxWorkingSetSize] > 0 && [device maxBufferLength] > 0);
    id<MTLDevice> again = MTLCreateSystemDefaultDevice();
    CHECK(again == device);
    [again release];
    NSArray *devices = MTLCopyAllDevices();
    CHECK([devices count] == 1 && [devices objectAtIndex:0] == device);
    [devices release];
}

static void test_residency_set(void) {
    MTLResidencySetDescriptor *descriptor = [[[MTLResidencySetDescriptor alloc] init] autorelease];
    [descriptor setLabel:@"weights"];
    NSError *error = (NSError *)1;
    id<MTLResidencySet> set = [device newResidencySetWithDescriptor:descriptor error:&error];
    CHECK(set != nil && error == nil && [[set label] isEqual:@"weights"]);
    id<MTLBuffer> buffer = [device newBufferWithLength:4096 options:0];
    [set addAllocation:buffer];
    CHECK([set allocationCount] == 1 && [set containsAllocation:buffer] && [set allocatedSize] == 0);
    [set commit];
    [set requestResidency];
    CHECK([set allocatedSize] == [buffer allocatedSize]);
    id<MTLCommandQueue> queue = [device newCommandQueue];
    [queue addResidencySet:set];
    id<MTLCommandBuffer> command_buffer = [queue commandBuffer];
    [command_buffer useResidencySet:set];
    [command_buffer commit];
    [command_buffer waitUntilCompleted];
    CHECK_RAISES("committed", [command_buffer useResidencySet:set]);
    /* With this one they have as many as Metal takes. */
    command_buffer = [queue commandBuffer];
    [command_buffer useResidencySet:set];
    for (int more = 1; more < 32; more++) {
        id<MTLResidencySet> another = [[device newResidencySetWithDescriptor:descriptor error:NULL] autorelease];
        [queue addResidencySet:another];
        [command_buffer useResidencySet:another];
    }
    id<MTLResidencySet> excess = [[device newResidencySetWithDescriptor:descriptor error:NULL] autorelease];
    CHECK_RAISES("33 residency sets are more than the 32", [queue addResidencySet:excess]);
    CHECK_RAISES("33 residency sets are more than the 32", [command_buffer useResidencySet:excess]);
    [queue addResidencySet:set];
    [command_buffer useResidencySet:set];
    [command_buffer commit];
    [queue removeResidencySet:set];
    [queue addResidencySet:excess];
    [set removeAllAllocations];
    [set commit];
    [set endResidency];
    CHECK([set allocatedSize] == 0 && [[set allAllocations] count] == 0);
    [queue release];
    [buffer release];
    [set release];
}

/* Overruns that a Mac's pages of 16 KiB hide meet nobody else's memory: neither another buffer's nor the heap's. */
static void test_overruns(void) {
#if !__has_feature(address_sanitizer)
    static const NSUInteger lengths[] = {1, 100, 4000, 16383, 16385, 65537, 100000};
    enum {
        COUNT = 40,
        PAGE = 16384
    };
    id<MTLBuffer> buffers[COUNT];
    char *neighbours[COUNT];
    for (int i = 0; i < COUNT; i++) {
        buffers[i] = [device newBufferWithLength:lengths[i % 7] options:0];
        neighbours[i] = calloc(1, 64);
    }
    for (int i = 0; i < COUNT; i++)
        memset([buffers[i] contents], i + 1, ([buffers[i] length] + PAGE - 1) / PAGE * PAGE);
    for (int i = 0; i < COUNT; i++) {
        CHECK(all_bytes([buffers[i] contents], ([buffers[i] length] + PAGE - 1) / PAGE * PAGE, (uint8_t)(i + 1)));
        CHECK(all_bytes(neighbours[i], 64, 0));
        free(neighbours[i]);
        [buffers[i] release];
    }
#endif
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_device);
        RUN(test_shared);
        RUN(test_properties);
        RUN(test_bytes);
        RUN(test_no_copy);
        RUN(test_limits);
        RUN(test_automatic_heap);
        RUN(test_heap_modes);
        RUN(test_heap_of_odd_size);
        RUN(test_placement_heap);
        RUN(test_residency_set);
        RUN(test_overruns);
        [device release];
    }
    return checks_report();
}
