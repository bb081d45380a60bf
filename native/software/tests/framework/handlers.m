/* Handlers of command buffers: where and in what order they run, and what they hold up. */
#include "framework_test.h"
#include <pthread.h>

static id<MTLDevice> device;

static void test_handlers(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    for (int round = 0; round < 200; round++) {
        @autoreleasepool {
            __block int scheduled = 0;
            __block int completed = 0;
            __block BOOL other_thread = NO;
            pthread_t here = pthread_self();
            id<MTLCommandBuffer> buffer = [queue commandBuffer];
            [buffer addScheduledHandler:^(id<MTLCommandBuffer> handed) {
                CHECK(handed == buffer && [handed status] >= MTLCommandBufferStatusScheduled);
                scheduled++;
            }];
            for (int i = 0; i < 3; i++) {
                [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) {
                    CHECK([handed status] == MTLCommandBufferStatusCompleted);
                    CHECK(scheduled == 1 && completed == i);
                    completed++;
                    other_thread = !pthread_equal(here, pthread_self());
                  /* There is a pool, and a wait for the handler's own command buffer returns. */
                    [[[NSObject alloc] init] autorelease];
                    [handed waitUntilCompleted];
                }];
            }
            [buffer commit];
            [buffer waitUntilCompleted];
            CHECK(completed == 3 && other_thread);
        }
    }
    [queue release];
}

/* A slow handler holds up neither the queue nor the execution of a command buffer without a handler. */
static void test_slow_handler(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLSharedEvent> event = [device newSharedEvent];
    id<MTLCommandBuffer> slow = [queue commandBuffer];
    [slow addCompletedHandler:^(id<MTLCommandBuffer> handed) {
        (void)handed;
        CHECK([event waitUntilSignaledValue:1 timeoutMS:LONG_MS]);
    }];
    id<MTLCommandBuffer> next = [queue commandBuffer];
    [next encodeSignalEvent:event value:1];
    [slow commit];
    [next commit];
    [next waitUntilCompleted];
    /* Command buffers complete in order: once the second has completed, so has the first. */
    CHECK([slow status] == MTLCommandBufferStatusCompleted);
    [slow waitUntilCompleted];
    [event release];
    [queue release];
}

/* Command buffers that are committed while a handler runs, on a queue that has nothing else to do, execute during the
 * handler and complete after it. */
static void test_commits_while_handler_runs(void) {
    enum {
        ROUNDS = 50,
        LATER = 3
    };
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLSharedEvent> event = [device newSharedEvent];
    __block int completed = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        @autoreleasepool {
            const uint64_t handling = 2 * round + 1, executed = handling + 1;
            __block BOOL executes = NO;
            id<MTLCommandBuffer> first = [queue commandBuffer];
            [first addCompletedHandler:^(id<MTLCommandBuffer> handed) {
                (void)handed;
                [event setSignaledValue:handling];
                executes = [event waitUntilSignaledValue:executed timeoutMS:LONG_MS];
                completed++;
            }];
            [first commit];
            CHECK([event waitUntilSignaledValue:handling timeoutMS:LONG_MS]);
            id<MTLCommandBuffer> last = nil;
            for (int i = 0; i < LATER; i++) {
                last = [queue commandBuffer];
                /* Some have a handler and some do not. The last one has a handler in every other round. */
                if ((round + (uint64_t)i) % 2 == 0) {
                    [last addCompletedHandler:^(id<MTLCommandBuffer> handed) {
                        CHECK([handed GPUStartTime] >= [first GPUEndTime]);
                        completed++;
                    }];
                }
                if (i == LATER - 1) [last encodeSignalEvent:event value:executed];
                [last commit];
            }
            [last waitUntilCompleted];
            CHECK(executes && completed == (int)(1 + (LATER + (round + 1) % 2) / 2));
            completed = 0;
        }
    }
    [event release];
    [queue release];
}

/* Whatever the pace, command buffers execute one after the other and complete in order. */
static void test_completion_order(void) {
    enum {
        COUNT = 600
    };
    id<MTLCommandQueue> queue = [device newCommandQueue];
    __block int completed = 0;
    int handled = 0;
    uint32_t random = 1;
    CFTimeInterval end = 0;
    for (int i = 0; i < COUNT; i++) {
        @autoreleasepool {
            random = random * 1664525u + 1013904223u;
            const uint32_t choice = random >> 24;
            id<MTLCommandBuffer> buffer = [queue commandBuffer];
            if (choice % 8 == 0) {
                [buffer addScheduledHandler:^(id<MTLCommandBuffer> handed) {
                    CHECK([handed status] >= MTLCommandBufferStatusScheduled);
                }];
            }
            if (choice % 4 != 3) {
                const int earlier = handled++;
                [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) {
                    (void)handed;
                    CHECK(completed == earlier);
                    completed++;
                }];
            }
            [buffer commit];
            if (choice % 3 == 0) {
                [buffer waitUntilCompleted];
                CHECK(completed == handled && [buffer GPUStartTime] >= end);
                end = [buffer GPUEndTime];
            } else if (choice % 3 == 1) {
                usleep(choice % 16);
            }
        }
    }
    id<MTLCommandBuffer> last = [queue commandBuffer];
    [last commit];
    [last waitUntilCompleted];
    CHECK(completed == handled);
    [queue release];
}

static void test_raising_handler(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    __block BOOL second = NO;
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) {
        (void)handed;
        [NSException raise:@"Test" format:@"this report belongs to the test"];
    }];
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) {
        (void)handed;
        second = YES;
    }];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(second);
    [queue release];
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_handlers);
        RUN(test_slow_handler);
        RUN(test_commits_while_handler_runs);
        RUN(test_completion_order);
        RUN(test_raising_handler);
    }
    return checks_report();
}
