/* Shuffled execution: dispatches of a concurrent encoder change places, except across what orders them. */
#include "framework_kernels.h"

static id<MTLComputePipelineState> digit;

/* Appends the digits 1 to 8, each by a dispatch of its own; the number that comes out. */
static int append_digits(MTLDispatchType type, BOOL barriers)
{
    id<MTLBuffer> values = make_ints(1, 0, 0);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoderWithDispatchType:type];
    [encoder setComputePipelineState:digit];
    [encoder setBuffer:values offset:0 atIndex:0];
    for (int i = 1; i <= 8; i++) {
        [encoder setBytes:&i length:sizeof i atIndex:1];
        [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
        if (barriers) {
            [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
        }
    }
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    int number = *(int *)[values contents];
    [values release];
    return number;
}

static void test_order(void)
{
    id<MTLLibrary> library = make_library();
    digit = make_pipeline(library, @"digit");
    CHECK(append_digits(MTLDispatchTypeSerial, NO) == 12345678);
    CHECK(append_digits(MTLDispatchTypeConcurrent, YES) == 12345678);
    int shuffled = append_digits(MTLDispatchTypeConcurrent, NO);
    CHECK(shuffled != 12345678);
    /* The order depends on the seed alone. */
    CHECK(append_digits(MTLDispatchTypeConcurrent, NO) == shuffled);
    /* Each ran once. */
    unsigned seen = 0;
    for (int rest = shuffled; rest > 0; rest /= 10) {
        seen |= 1u << rest % 10;
    }
    CHECK(seen == 0x1fe && shuffled > 10000000);
    [digit release];
    [library release];
}

/* The next encoder, and an event, come after all of them. */
static void test_ends(void)
{
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> add = make_pipeline(library, @"add");
    id<MTLBuffer> values = make_ints(32, 0, 0);
    id<MTLBuffer> copy = make_ints(32, 0, 0);
    id<MTLSharedEvent> event = [device newSharedEvent];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    for (int part = 0; part < 2; part++) {
        id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
        [encoder setComputePipelineState:add];
        [encoder setBuffer:values offset:0 atIndex:0];
        for (int i = 1; i <= 100; i++) {
            [encoder setBytes:&i length:sizeof i atIndex:1];
            [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
        }
        [encoder endEncoding];
        if (part == 0) {
            id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
            [blit copyFromBuffer:values sourceOffset:0 toBuffer:copy destinationOffset:0 size:[copy length]];
            [blit endEncoding];
        }
    }
    [buffer encodeSignalEvent:event value:1];
    [buffer encodeWaitForEvent:event value:2];
    [buffer commit];
    CHECK([event waitUntilSignaledValue:1 timeoutMS:10000]);
    CHECK(are_ints(copy, 5050, 0) && are_ints(values, 10100, 0));
    [event setSignaledValue:2];
    [buffer waitUntilCompleted];
    [event release];
    [copy release];
    [values release];
    [add release];
    [library release];
}

int main(void)
{
    setenv("SOFTWARE_METAL_SHUFFLE", "7", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_order);
        RUN(test_ends);
        [queue release];
    }
    return checks_report();
}
