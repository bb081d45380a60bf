/* What the environment changes: several devices, discrete memory, poisoned fresh memory, limits. */
#include "framework_test.h"
#include <stdlib.h>

static id<MTLDevice> device;

static void test_devices(void) {
    NSArray *devices = MTLCopyAllDevices();
    CHECK([devices count] == 3);
    CHECK(![[[devices objectAtIndex:1] name] isEqual:[device name]]);
    CHECK([[devices objectAtIndex:1] registryID] != [device registryID]);
    CHECK(![device hasUnifiedMemory] && [device location] == MTLDeviceLocationSlot);
    CHECK([device maxTransferRate] == 0);
    CHECK(![device supportsFamily:MTLGPUFamilyApple1] && [device supportsFamily:MTLGPUFamilyMac2]);
    CHECK([device maxBufferLength] == 1 << 20);
    CHECK([device newBufferWithLength:(1 << 20) + 1 options:0] == nil);

    /* A buffer of one device does not count as another's, and cannot be used there. */
    id<MTLDevice> other = [devices objectAtIndex:1];
    id<MTLBuffer> buffer = [other newBufferWithLength:16 options:0];
    CHECK([device currentAllocatedSize] == 0 && [other currentAllocatedSize] == [buffer allocatedSize]);
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBlitCommandEncoder> encoder = [[queue commandBuffer] blitCommandEncoder];
    CHECK_RAISES("belongs to device \"Software Metal 2\"", [encoder fillBuffer:buffer range:NSMakeRange(0, 16)
                                                                         value:0]);
    [encoder endEncoding];
    [queue release];
    [buffer release];
    [devices release];
}

static void test_poison(void) {
    id<MTLBuffer> small = [device newBufferWithLength:1000 options:MTLResourceStorageModeShared];
    id<MTLBuffer> large = [device newBufferWithLength:300000 options:MTLResourceStorageModeShared];
    CHECK(all_bytes([small contents], 1000, 0xff));
    CHECK(all_bytes([large contents], 300000, 0xff));
    [small release];
    [large release];
}

/* A forgotten synchronisation shows in both directions. */
static void test_managed(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    uint8_t ones[64];
    memset(ones, 1, sizeof ones);
    id<MTLBuffer> managed = [device newBufferWithBytes:ones length:64 options:MTLResourceStorageModeManaged];
    id<MTLBuffer> shared = [device newBufferWithLength:64 options:MTLResourceStorageModeShared];
    CHECK([managed storageMode] == MTLStorageModeManaged);
    CHECK([managed gpuAddress] != (uintptr_t)[managed contents]);
    CHECK([managed allocatedSize] == 2 * [shared allocatedSize]);
    void (^copy_out)(id<MTLBlitCommandEncoder>) = ^(id<MTLBlitCommandEncoder> encoder) {
        [encoder copyFromBuffer:managed sourceOffset:0 toBuffer:shared destinationOffset:0 size:64];
    };
    run_blits(queue, copy_out);
    CHECK(all_bytes([shared contents], 64, 1));

    memset([managed contents], 2, 64);
    run_blits(queue, copy_out);
    CHECK(all_bytes([shared contents], 64, 1));
    [managed didModifyRange:NSMakeRange(0, 32)];
    run_blits(queue, copy_out);
    CHECK(all_bytes([shared contents], 32, 2));
    CHECK(all_bytes((uint8_t *)[shared contents] + 32, 32, 1));

    run_blits(queue,
              ^(id<MTLBlitCommandEncoder> encoder) { [encoder fillBuffer:managed range:NSMakeRange(0, 64) value:3]; });
    CHECK(all_bytes([managed contents], 64, 2));
    run_blits(queue, ^(id<MTLBlitCommandEncoder> encoder) { [encoder synchronizeResource:managed]; });
    CHECK(all_bytes([managed contents], 64, 3));

    CHECK_RAISES("exceeds the buffer's length", [managed didModifyRange:NSMakeRange(60, 5)]);
    CHECK_RAISES("not managed", [shared didModifyRange:NSMakeRange(0, 1)]);
    id<MTLCommandBuffer> command_buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [command_buffer blitCommandEncoder];
    CHECK_RAISES("not managed", [encoder synchronizeResource:shared]);
    CHECK_RAISES("multiple of 4", [encoder fillBuffer:shared range:NSMakeRange(2, 8) value:0]);
    [encoder endEncoding];
    [managed release];
    [shared release];
    [queue release];
}

static void test_managed_no_copy(void) {
    __block int calls = 0;
    static uint8_t memory[4096] __attribute__((aligned(4096)));
    memset(memory, 4, sizeof memory);
    id<MTLBuffer> buffer = [device newBufferWithBytesNoCopy:memory length:sizeof memory
                                                    options:MTLResourceStorageModeManaged
                                                deallocator:^(void *pointer, NSUInteger length) {
                                                    (void)length;
                                                    calls += pointer == memory;
                                                }];
    CHECK([buffer contents] == memory);
    CHECK([buffer gpuAddress] != (uintptr_t)memory);
    [buffer release];
    CHECK(calls == 1);
    CHECK([device currentAllocatedSize] == 0);
    /* The environment asks for strict alignment. */
    CHECK([device newBufferWithBytesNoCopy:memory + 16 length:4096 options:0 deallocator:nil] == nil);
    CHECK([device newBufferWithBytesNoCopy:memory length:100 options:0 deallocator:nil] == nil);
}

int main(void) {
    setenv("SOFTWARE_METAL_DEVICES", "3", 1);
    setenv("SOFTWARE_METAL_DEFAULT_DEVICE", "0", 1);
    setenv("SOFTWARE_METAL_UNIFIED", "0", 1);
    setenv("SOFTWARE_METAL_POISON", "1", 1);
    setenv("SOFTWARE_METAL_STRICT", "1", 1);
    setenv("SOFTWARE_METAL_MAX_BUFFER_LENGTH", "1048576", 1);
    @autoreleasepool {
        CHECK(MTLCreateSystemDefaultDevice() == nil);
        NSArray *devices = MTLCopyAllDevices();
        device = [devices objectAtIndex:0];
        [devices release];
        RUN(test_devices);
        RUN(test_poison);
        RUN(test_managed);
        RUN(test_managed_no_copy);
    }
    return checks_report();
}
