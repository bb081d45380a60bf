// The calls that the bridge's benchmarks time, made straight from Objective-C, with the pool that correct code has.
// Each returns the nanoseconds of `count` rounds, or 0 where a call failed.

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <stdint.h>
#include <time.h>

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const struct {
    uint32_t first, second, third, fourth;
} arguments = {1, 2, 3, 4};

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
static id<MTLComputePipelineState> pipeline;
static id<MTLBuffer> buffers[3];

// Makes what the rounds use; false on failure.
bool plain_open(const char *source, const char *function) {
    @autoreleasepool {
        NSError *error = nil;
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        id<MTLLibrary> library = [device newLibraryWithSource:[NSString stringWithUTF8String:source]
                                                      options:nil
                                                        error:&error];
        id<MTLFunction> kernel = [library newFunctionWithName:[NSString stringWithUTF8String:function]];
        if (kernel != nil) {
            pipeline = [device newComputePipelineStateWithFunction:kernel error:&error];
        }
        [kernel release];
        [library release];
        for (size_t i = 0; i < 3; i++) {
            buffers[i] = [device newBufferWithLength:4096 options:MTLResourceStorageModeShared];
        }
        return pipeline != nil && queue != nil && buffers[2] != nil;
    }
}

uint64_t plain_buffer(uint64_t count, size_t length) {
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        @autoreleasepool {
            id<MTLBuffer> buffer = [device newBufferWithLength:length options:MTLResourceStorageModeShared];
            if (buffer == nil) {
                return 0;
            }
            [buffer release];
        }
    }
    return now_ns() - start;
}

uint64_t plain_empty_command_buffer(uint64_t count) {
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        @autoreleasepool {
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            [commands commit];
            [commands waitUntilCompleted];
            if (commands.status != MTLCommandBufferStatusCompleted) {
                return 0;
            }
        }
    }
    return now_ns() - start;
}

// Encodes `count` dispatches, each with its pipeline, three buffers and sixteen bytes, `batch` to a command buffer. Only the
// encoding is timed.
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
                for (NSUInteger b = 0; b < 3; b++) {
                    [encoder setBuffer:buffers[b] offset:0 atIndex:b];
                }
                [encoder setBytes:&arguments length:sizeof arguments atIndex:3];
                [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            }
            spent += now_ns() - start;
            [encoder endEncoding];
            [commands commit];
            [commands waitUntilCompleted];
        }
        count -= n;
    }
    return spent;
}
