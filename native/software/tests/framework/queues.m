/* Command queues and command buffers: order, status, limits, lifetimes. */
#include "framework_test.h"
#include <pthread.h>

static id<MTLDevice> device;

static void test_status(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLSharedEvent> event = [device newSharedEvent];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    CHECK([buffer status] == MTLCommandBufferStatusNotEnqueued);
    CHECK([buffer retainedReferences] && [buffer commandQueue] == queue && [buffer device] == device);
    [buffer enqueue];
    CHECK([buffer status] == MTLCommandBufferStatusEnqueued);
    [buffer encodeWaitForEvent:event value:1];
    [buffer commit];
    CHECK([buffer status] >= MTLCommandBufferStatusCommitted);
    [buffer waitUntilScheduled];
    CHECK([buffer status] == MTLCommandBufferStatusScheduled);
    CHECK([buffer GPUEndTime] == 0);
    while ([buffer GPUStartTime] == 0) usleep(100);
    usleep(2000);
    [event setSignaledValue:1];
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusCompleted && [buffer error] == nil);
    CHECK([buffer GPUEndTime] - [buffer GPUStartTime] >= 0.002);
    CHECK([buffer kernelStartTime] > 0 && [buffer kernelEndTime] >= [buffer kernelStartTime]);
    CHECK([buffer kernelEndTime] <= [buffer GPUStartTime]);
    [buffer waitUntilCompleted];
    [event release];
    [queue release];
}

/* Enqueue order governs, not commit order. */
static void test_enqueue_order(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> value = [device newBufferWithLength:1 options:0];
    id<MTLCommandBuffer> buffers[4];
    for (int i = 0; i < 4; i++) {
        buffers[i] = [queue commandBuffer];
        [buffers[i] enqueue];
    }
    for (int i = 3; i >= 0; i--) {
        id<MTLBlitCommandEncoder> encoder = [buffers[i] blitCommandEncoder];
        [encoder fillBuffer:value range:NSMakeRange(0, 1) value:(uint8_t)(i + 1)];
        [encoder endEncoding];
        [buffers[i] commit];
        if (i > 0) {
            usleep(1000);
            CHECK([buffers[i] status] == MTLCommandBufferStatusCommitted);
        }
    }
    [buffers[3] waitUntilCompleted];
    CHECK(*(uint8_t *)[value contents] == 4);
    for (int i = 0; i < 3; i++) {
        CHECK([buffers[i] status] == MTLCommandBufferStatusCompleted);
        CHECK([buffers[i] GPUEndTime] <= [buffers[i + 1] GPUStartTime]);
    }
    [value release];
    [queue release];
}

/* A command buffer that is enqueued and then released does not hold up the ones behind it. */
static void test_abandoned(void) {
    id<MTLCommandQueue> queue = [device newCommandQueueWithMaxCommandBufferCount:2];
    for (int i = 0; i < 10; i++) {
        id<MTLCommandBuffer> behind = nil;
        @autoreleasepool {
            id<MTLCommandBuffer> abandoned = [queue commandBuffer];
            [abandoned enqueue];
            behind = [[queue commandBuffer] retain];
            [behind commit];
            usleep(200);
            CHECK([behind status] == MTLCommandBufferStatusCommitted);
        }
        [behind waitUntilCompleted];
        CHECK([behind status] == MTLCommandBufferStatusCompleted);
        [behind release];
    }
    [queue release];
}

typedef struct {
    id<MTLCommandQueue> queue;
    id<MTLSharedEvent> made;
} limit_state;

static void *make_one_more(void *argument) {
    limit_state *state = argument;
    GSRegisterCurrentThread();
    @autoreleasepool {
        [state->queue commandBuffer];
        [state->made setSignaledValue:1];
    }
    GSUnregisterCurrentThread();
    return NULL;
}

static void test_limit(void) {
    id<MTLCommandQueue> queue = [device newCommandQueueWithMaxCommandBufferCount:3];
    id<MTLSharedEvent> gate = [device newSharedEvent];
    id<MTLSharedEvent> made = [device newSharedEvent];
    id<MTLCommandBuffer> last = nil;
    for (int i = 0; i < 3; i++) {
        last = [queue commandBuffer];
        [last encodeWaitForEvent:gate value:(uint64_t)i + 1];
        [last commit];
    }
    limit_state state = {queue, made};
    pthread_t thread;
    pthread_create(&thread, NULL, make_one_more, &state);
    CHECK(![made waitUntilSignaledValue:1 timeoutMS:50]);
    [gate setSignaledValue:1];
    CHECK([made waitUntilSignaledValue:1 timeoutMS:LONG_MS]);
    [gate setSignaledValue:3];
    pthread_join(thread, NULL);
    [last waitUntilCompleted];
    CHECK_RAISES("must not be 0", [device newCommandQueueWithMaxCommandBufferCount:0]);
    [gate release];
    [made release];
    [queue release];
}

/* The queue is released first, while its command buffers and buffers are still at work. */
static void test_release_while_running(void) {
    id<MTLSharedEvent> gate = [device newSharedEvent];
    id<MTLBuffer> target = [device newBufferWithLength:100 options:0];
    id<MTLCommandBuffer> buffer = nil;
    @autoreleasepool {
        id<MTLCommandQueue> queue = [device newCommandQueue];
        id<MTLBuffer> source = [device newBufferWithLength:100 options:0];
        memset([source contents], 3, 100);
        buffer = [queue commandBuffer];
        [buffer encodeWaitForEvent:gate value:1];
        id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
        [encoder copyFromBuffer:source sourceOffset:0 toBuffer:target destinationOffset:0 size:100];
        [encoder endEncoding];
        NSObject *captured = [[NSObject alloc] init];
        [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) {
            (void)handed;
            CHECK([captured retainCount] == 1);
        }];
        /* The block alone keeps what it captured. */
        CHECK([captured retainCount] == 2);
        [captured release];
        [source release];
        [buffer commit];
        [buffer retain];
        [queue release];
    }
    CHECK(smtl_live_objects(SMTL_OBJECT_BUFFER) == 2 && smtl_live_objects(SMTL_OBJECT_COMMAND_QUEUE) == 1);
    [gate setSignaledValue:1];
    [buffer waitUntilCompleted];
    CHECK(smtl_live_objects(SMTL_OBJECT_BUFFER) == 1);
    CHECK(all_bytes([target contents], 100, 3));
    [buffer release];
    CHECK(smtl_live_objects(SMTL_OBJECT_COMMAND_QUEUE) == 0);
    [target release];
    [gate release];
}

static void test_unretained(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> target = [device newBufferWithLength:4 options:0];
    NSUInteger before = [target retainCount];
    id<MTLCommandBuffer> buffer = [queue commandBufferWithUnretainedReferences];
    CHECK(![buffer retainedReferences]);
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    [encoder fillBuffer:target range:NSMakeRange(0, 4) value:9];
    [encoder endEncoding];
    CHECK([target retainCount] == before);
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(all_bytes([target contents], 4, 9));

    MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
    buffer = [queue commandBufferWithDescriptor:descriptor];
    CHECK([buffer retainedReferences] && [buffer errorOptions] == MTLCommandBufferErrorOptionNone);
    encoder = [buffer blitCommandEncoder];
    [encoder fillBuffer:target range:NSMakeRange(0, 2) value:1];
    [encoder fillBuffer:target range:NSMakeRange(2, 2) value:1];
    [encoder endEncoding];
    CHECK([target retainCount] == before + 1);
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([target retainCount] == before);
    [target release];
    [queue release];
}

static void test_misuse(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    CHECK_RAISES("not committed", [buffer waitUntilCompleted]);
    CHECK_RAISES("not committed", [buffer waitUntilScheduled]);
    CHECK_RAISES("no debug group", [buffer popDebugGroup]);
    [buffer pushDebugGroup:@"group"];
    [buffer popDebugGroup];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    CHECK_RAISES("already encoding", [buffer blitCommandEncoder]);
    CHECK_RAISES("already encoding", [buffer computeCommandEncoder]);
    CHECK_RAISES("endEncoding is missing", [buffer commit]);
    CHECK_RAISES("already encoding", [buffer encodeSignalEvent:[[device newEvent] autorelease] value:1]);
    CHECK_RAISES("no debug group", [encoder popDebugGroup]);
    [encoder endEncoding];
    CHECK_RAISES("the encoder has ended", [encoder pushDebugGroup:@"group"]);
    CHECK_RAISES("the encoder has ended", [encoder popDebugGroup]);
    CHECK_RAISES("the encoder has ended", [encoder insertDebugSignpost:@"signpost"]);
    CHECK_RAISES("event must not be nil", [buffer encodeSignalEvent:(id _Nonnull)nil value:1]);
    [buffer enqueue];
    CHECK_RAISES("already enqueued", [buffer enqueue]);
    [buffer commit];
    CHECK_RAISES("already committed", [buffer commit]);
    CHECK_RAISES("already enqueued or committed", [buffer enqueue]);
    CHECK_RAISES("already committed", [buffer blitCommandEncoder]);
    CHECK_RAISES("handlers must be added before",
                 [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) { (void)handed; }]);
    [buffer waitUntilCompleted];

    id<MTLCommandBuffer> lost = [queue commandBuffer];
    @autoreleasepool {
        [lost blitCommandEncoder];
    }
    CHECK_RAISES("released without endEncoding", [lost commit]);
    [queue release];
}

/* Several threads encode and commit on one queue at once. */
static void *commit_many(void *argument) {
    id<MTLCommandQueue> queue = argument;
    GSRegisterCurrentThread();
    for (int i = 0; i < 500; i++) {
        @autoreleasepool {
            id<MTLBuffer> target = [device newBufferWithLength:64 options:0];
            id<MTLCommandBuffer> buffer = [queue commandBuffer];
            id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
            [encoder fillBuffer:target range:NSMakeRange(0, 64) value:(uint8_t)i];
            [encoder endEncoding];
            [buffer commit];
            if (i % 2 == 0) {
                [buffer waitUntilCompleted];
                CHECK(all_bytes([target contents], 64, (uint8_t)i));
            }
            [target release];
        }
    }
    GSUnregisterCurrentThread();
    return NULL;
}

static void test_threads(void) {
    id<MTLCommandQueue> queue = [device newCommandQueueWithMaxCommandBufferCount:5];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, commit_many, queue);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    [queue release];
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_status);
        RUN(test_enqueue_order);
        RUN(test_abandoned);
        RUN(test_limit);
        RUN(test_release_while_running);
        RUN(test_unretained);
        RUN(test_misuse);
        RUN(test_threads);
    }
    return checks_report();
}
