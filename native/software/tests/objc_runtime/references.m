/* Whoever lets go of an object last frees what others have read through it: what orders the two is the count of
 * references, and it must be one that ThreadSanitizer sees. */
#include "framework_test.h"

#include <sched.h>
#include <stdatomic.h>

static id<MTLDevice> device;
/* Holds the queue's thread up, and orders no memory. */
static atomic_bool has_let_go;

/* The queue's thread lets go of a command buffer last, and with it of the queue, after this one has asked for its
 * status. */
static void test_the_queue_goes_with_its_last_command_buffer(void) {
    @autoreleasepool {
        id<MTLCommandQueue> queue = [device newCommandQueue];
        id<MTLCommandBuffer> buffer = [queue commandBuffer];
        [buffer addCompletedHandler:^(id<MTLCommandBuffer> completed) {
            (void)completed;
            while (!atomic_load_explicit(&has_let_go, memory_order_relaxed)) {
                sched_yield();
            }
        }];
        [buffer commit];
        while ([buffer status] != MTLCommandBufferStatusCompleted) {
            sched_yield();
        }
        CHECK([buffer error] == nil && [buffer GPUEndTime] > 0);
        [queue release];
    }
    atomic_store_explicit(&has_let_go, true, memory_order_relaxed);
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_the_queue_goes_with_its_last_command_buffer);
    }
    return checks_report();
}
