/* Guarded buffers: a kernel that runs off the end of one fails, and nothing else does. */
#include "framework_kernels.h"

/* One int beyond the end, in buffers that end on an alignment. */
static void test_overrun(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> add = make_pipeline(library, @"add");
    static const NSUInteger counts[] = {8, 1024, 1 << 15, 1 << 22};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (NSUInteger beyond = 0; beyond < 2; beyond++) {
            const NSUInteger threads = counts[i] + beyond;
            id<MTLBuffer> values = make_ints(counts[i], 0, 1);
            id<MTLCommandBuffer> buffer = run(^(id<MTLComputeCommandEncoder> encoder) {
                int amount = 1;
                [encoder setComputePipelineState:add];
                [encoder setBuffer:values offset:0 atIndex:0];
                [encoder setBytes:&amount length:sizeof amount atIndex:1];
                [encoder dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            });
            if (beyond) {
                CHECK([buffer status] == MTLCommandBufferStatusError);
                CHECK([[[buffer error] localizedDescription] rangeOfString:@"add"].location != NSNotFound);
            } else {
                CHECK([buffer status] == MTLCommandBufferStatusCompleted && are_ints(values, 1, 1));
            }
            [values release];
        }
    }
    [add release];
    [library release];
}

static void test_accounting(void) {
    NSUInteger before = [device currentAllocatedSize];
    id<MTLBuffer> buffer = [device newBufferWithLength:100 options:0];
    CHECK(all_bytes([buffer contents], 100, 0) && (uintptr_t)[buffer contents] % 32 == 0);
    CHECK([device currentAllocatedSize] == before + [buffer allocatedSize]);
    [buffer release];
    CHECK([device currentAllocatedSize] == before);
}

int main(void) {
    setenv("SOFTWARE_METAL_GUARD", "1", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_accounting);
        RUN(test_overrun);
        [queue release];
    }
    return checks_report();
}
