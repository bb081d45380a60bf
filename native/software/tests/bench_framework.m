/* What the host side of the software Metal costs: `make bench-framework`. Medians of several rounds. */
#import <Metal/Metal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    ROUNDS = 9
};

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median time of one of the `count` repetitions that `work` makes. */
static void measure(const char *what, int count, void (^work)(int count)) {
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        @autoreleasepool {
            double start = seconds();
            work(count);
            times[i] = (seconds() - start) / count;
        }
    }
    qsort(times, ROUNDS, sizeof times[0], compare);
    printf("%-52s %10.3f us\n", what, times[ROUNDS / 2] * 1e6);
}

int main(void) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        id<MTLCommandQueue> queue = [device newCommandQueue];
        id<MTLBuffer> buffer = [device newBufferWithLength:1 << 16 options:0];
        NSError *error = nil;
        id<MTLLibrary> library =
            [device newLibraryWithSource:@"kernel void f(device float *a [[buffer(0)]], device float *b [[buffer(1)]],"
                                          "device float *c [[buffer(2)]], constant int &n [[buffer(3)]],"
                                          "uint i [[thread_position_in_grid]]) { if (n < 0) a[i] = b[i] + c[i]; }"
                                 options:nil
                                   error:&error];
        id<MTLFunction> function = [library newFunctionWithName:@"f"];
        id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
        if (pipeline == nil) {
            fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
            return 1;
        }

        static const NSUInteger lengths[] = {64, 4096, 65536, 1 << 20, 64 << 20};
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            char what[64];
            NSUInteger length = lengths[i];
            snprintf(what, sizeof what, "buffer of %lu bytes made and dropped", (unsigned long)length);
            measure(what, 2000, ^(int count) {
                for (int j = 0; j < count; j++) {
                    @autoreleasepool {
                        [[device newBufferWithLength:length options:MTLResourceStorageModeShared] release];
                    }
                }
            });
        }
        measure("empty command buffer, committed and waited for", 1000, ^(int count) {
            for (int j = 0; j < count; j++) {
                @autoreleasepool {
                    id<MTLCommandBuffer> commands = [queue commandBuffer];
                    [commands commit];
                    [commands waitUntilCompleted];
                }
            }
        });
        measure("the same with a completed handler", 1000, ^(int count) {
            for (int j = 0; j < count; j++) {
                @autoreleasepool {
                    id<MTLCommandBuffer> commands = [queue commandBuffer];
                    [commands addCompletedHandler:^(id<MTLCommandBuffer> handed) { (void)handed; }];
                    [commands commit];
                    [commands waitUntilCompleted];
                }
            }
        });
        measure("empty command buffers, one wait for 50 (each)", 5000, ^(int count) {
            for (int j = 0; j < count / 50; j++) {
                @autoreleasepool {
                    id<MTLCommandBuffer> commands = nil;
                    for (int k = 0; k < 50; k++) {
                        commands = [queue commandBuffer];
                        [commands commit];
                    }
                    [commands waitUntilCompleted];
                }
            }
        });
        measure("dispatch encoded: pipeline, 3 buffers, bytes", 20000, ^(int count) {
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
            for (int j = 0; j < count; j++) {
                [encoder setComputePipelineState:pipeline];
                [encoder setBuffer:buffer offset:0 atIndex:0];
                [encoder setBuffer:buffer offset:256 atIndex:1];
                [encoder setBuffer:buffer offset:512 atIndex:2];
                [encoder setBytes:&j length:sizeof j atIndex:3];
                [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            }
            [encoder endEncoding];
        });
        measure("dispatch of 32 threads encoded and executed", 20000, ^(int count) {
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
            [encoder setComputePipelineState:pipeline];
            [encoder setBuffer:buffer offset:0 atIndex:0];
            [encoder setBuffer:buffer offset:256 atIndex:1];
            [encoder setBuffer:buffer offset:512 atIndex:2];
            [encoder setBytes:&count length:sizeof count atIndex:3];
            for (int j = 0; j < count; j++)
                [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            [encoder endEncoding];
            [commands commit];
            [commands waitUntilCompleted];
        });
        [pipeline release];
        [function release];
        [library release];
        [buffer release];
        [queue release];
        [device release];
    }
    return 0;
}
