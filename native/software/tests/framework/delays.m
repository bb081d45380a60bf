/* SOFTWARE_METAL_DELAY: what Metal promises still holds. What Metal does not promise happens in other ways than usual.
 */
#import "framework_test.h"
#include <stdlib.h>
#include <time.h>

#define ROUNDS 60
#define DELAY "3000"

static id<MTLDevice> device;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* If two queues start together, either may be done first. */
static void test_either_queue_is_first(void) {
    id<MTLCommandQueue> queues[2] = {[device newCommandQueue], [device newCommandQueue]};
    int wins[2] = {0, 0};
    while (wins[0] == 0 || wins[1] == 0) {
        id<MTLCommandBuffer> buffers[2];
        for (int i = 0; i < 2; i++) {
            buffers[i] = [queues[i] commandBuffer];
            [buffers[i] commit];
        }
        for (int i = 0; i < 2; i++) [buffers[i] waitUntilCompleted];
        wins [[buffers [1] GPUEndTime] <= [buffers [0] GPUEndTime]]++;
    }
    [queues[0] release];
    [queues[1] release];
}

/* Command buffers begin, complete and notify late. On average each delay is a quarter of the longest. */
static void test_everything_is_late(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    const double start = now();
    for (int round = 0; round < ROUNDS; round++) {
        id<MTLCommandBuffer> buffer = [queue commandBuffer];
        [buffer commit];
        [buffer waitUntilCompleted];
    }
    const double mean = atof(DELAY) * 1e-6 / 4;
    CHECK(now() - start > ROUNDS * 2 * mean / 2);
    [queue release];
}

/* Delays change neither the order within a queue nor the order that events make. */
static void test_order(void) {
    id<MTLCommandQueue> queues[2] = {[device newCommandQueue], [device newCommandQueue]};
    id<MTLSharedEvent> event = [device newSharedEvent];
    id<MTLBuffer> buffer = [device newBufferWithLength:1 options:MTLResourceStorageModeShared];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        id<MTLCommandBuffer> last = nil;
        for (int i = 0; i < 2; i++) {
            last = [queues[i] commandBuffer];
            if (i == 1) [last encodeWaitForEvent:event value:round];
            id<MTLBlitCommandEncoder> blit = [last blitCommandEncoder];
            [blit fillBuffer:buffer range:NSMakeRange(0, 1) value:(uint8_t)(2 * round + (uint64_t)i)];
            [blit endEncoding];
            if (i == 0) [last encodeSignalEvent:event value:round];
            [last commit];
        }
        [last waitUntilCompleted];
        CHECK(*(uint8_t *)[buffer contents] == (uint8_t)(2 * round + 1));
    }
    [buffer release];
    [event release];
    [queues[0] release];
    [queues[1] release];
}

int main(void) {
    setenv("SOFTWARE_METAL_DELAY", DELAY, 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_either_queue_is_first);
        RUN(test_everything_is_late);
        RUN(test_order);
    }
    return checks_report();
}
