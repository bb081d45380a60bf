/* The thread that releases an object last frees memory that other threads have read through the object. The count of
 * references orders the two, and ThreadSanitizer must see the count. */
#include "framework_test.h"

#include <sched.h>
#include <stdatomic.h>

static id<MTLDevice> device;
/* Holds the queue's thread up without ordering memory. */
static atomic_bool has_seen_the_end;

/* The queue's thread is the last to release a command buffer, and with it the queue, after this thread has asked for
 * the command buffer's status. */
static void test_the_queue_goes_with_its_last_command_buffer(void) {
    @autoreleasepool {
        id<MTLCommandQueue> queue = [device newCommandQueue];
        id<MTLCommandBuffer> buffer = [queue commandBuffer];
        [buffer addCompletedHandler:^(id<MTLCommandBuffer> completed) {
            (void)completed;
            while (!atomic_load_explicit(&has_seen_the_end, memory_order_relaxed)) sched_yield();
        }];
        [buffer commit];
        while ([buffer status] != MTLCommandBufferStatusCompleted) sched_yield();
        CHECK([buffer error] == nil && [buffer GPUEndTime] > 0);
        [queue release];
    }
    atomic_store_explicit(&has_seen_the_end, true, memory_order_relaxed);
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_the_queue_goes_with_its_last_command_buffer);
    }
    return checks_report();
}
