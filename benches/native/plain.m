// The calls that the bridge's benchmarks time, made straight from Objective-C, with the pool that correct code has.
// Each returns the nanoseconds of `count` rounds, or 0 if a call failed.

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <stdint.h>
#include <time.h>

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLComputePipelineState> pipeline;
enum {
    BUFFERS = 8
};
static id<MTLBuffer> buffers[BUFFERS];

// Makes what the rounds use; false on failure.
bool plain_open(const char *source, const char *function) {
    @autoreleasepool {
        NSError *error = nil;
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil
                                                        error:&error];
        id<MTLFunction> kernel = [library newFunctionWithName:[NSString stringWithUTF8String:function]];
        if (kernel != nil) pipeline = [device newComputePipelineStateWithFunction:kernel error:&error];
        [kernel release];
        [library release];
        for (size_t i = 0; i < BUFFERS; i++)
            buffers[i] = [device newBufferWithLength:4096 options:MTLResourceStorageModeShared];
        return pipeline != nil && queue != nil && buffers[BUFFERS - 1] != nil;
    }
}

uint64_t plain_buffer(uint64_t count, size_t length) {
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        @autoreleasepool {
            id<MTLBuffer> buffer = [device newBufferWithLength:length options:MTLResourceStorageModeShared];
            if (buffer == nil) return 0;
            [buffer release];
        }
    }
    return now_ns() - start;
}

// `has_handler`: with a completion handler, which the bridge always needs (for waits with a timeout, among others).
uint64_t plain_empty_command_buffer(uint64_t count, bool has_handler) {
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        @autoreleasepool {
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            if (has_handler) [commands addCompletedHandler:^(id<MTLCommandBuffer> completed) { (void)completed; }];
            [commands commit];
            [commands waitUntilCompleted];
            if (commands.status != MTLCommandBufferStatusCompleted) return 0;
        }
    }
    return now_ns() - start;
}

// Encodes `count` dispatches, each with its pipeline, three buffers and sixteen bytes, `batch` to a command buffer.
// Buffers and bytes change from one dispatch to the next, as in a forward pass. Only the encoding is timed, to its end:
// the bridge may put work off until then.
uint64_t plain_encode(uint64_t count, uint64_t batch) {
    uint64_t spent = 0;
    while (count > 0) {
        uint64_t n = count < batch ? count : batch;
        @autoreleasepool {
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
            uint64_t start = now_ns();
            for (uint64_t i = 0; i < n; i++) {
                [encoder setComputePipelineState:pipeline];
                for (NSUInteger b = 0; b < 3; b++) [encoder setBuffer:buffers[(i + b) % BUFFERS] offset:0 atIndex:b];
                uint32_t arguments[4] = {1, 2, 3, (uint32_t)i};
                [encoder setBytes:arguments length:sizeof arguments atIndex:3];
                [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            }
            [encoder endEncoding];
            spent += now_ns() - start;
            [commands commit];
            [commands waitUntilCompleted];
        }
        count -= n;
    }
    return spent;
}

// One threadgroup, from its command buffer to the end of the wait.
uint64_t plain_dispatch(uint64_t count) {
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        @autoreleasepool {
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
            [encoder setComputePipelineState:pipeline];
            [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            [encoder endEncoding];
            [commands commit];
            [commands waitUntilCompleted];
            if (commands.status != MTLCommandBufferStatusCompleted) return 0;
        }
    }
    return now_ns() - start;
}
