/* Events between queues, and shared events between CPU and queues. */
#include "framework_test.h"
#include <pthread.h>
#include <time.h>

static id<MTLDevice> device;

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Two queues hand one byte back and forth. */
static void test_ping_pong(void) {
    enum {
        ROUNDS = 50
    };
    id<MTLCommandQueue> queues[2] = {[device newCommandQueue], [device newCommandQueue]};
    id<MTLEvent> event = [device newEvent];
    CHECK([event device] == device);
    CHECK([[[device newSharedEvent] autorelease] device] == nil);
    id<MTLBuffer> log = [device newBufferWithLength:ROUNDS * 2 + 1 options:0];
    *(uint8_t *)[log contents] = 1;
    id<MTLCommandBuffer> last = nil;
    /* The second queue is committed first: only the event can order them. */
    for (int side = 1; side >= 0; side--) {
        for (uint64_t i = 0; i < ROUNDS; i++) {
            uint64_t value = i * 2 + (uint64_t)side;
            id<MTLCommandBuffer> buffer = [queues[side] commandBuffer];
            [buffer encodeWaitForEvent:event value:value];
            id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
            [encoder copyFromBuffer:log sourceOffset:value toBuffer:log destinationOffset:value + 1 size:1];
            [encoder endEncoding];
            [buffer encodeSignalEvent:event value:value + 1];
            [buffer commit];
            last = side == 1 ? buffer : last;
        }
    }
    [last waitUntilCompleted];
    CHECK(all_bytes([log contents], ROUNDS * 2 + 1, 1));
    [log release];
    [event release];
    [queues[0] release];
    [queues[1] release];
}

static void test_cpu(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLSharedEvent> event = [device newSharedEvent];
    CHECK([event signaledValue] == 0);
    CHECK([event waitUntilSignaledValue:0 timeoutMS:0]);
    double start = seconds();
    CHECK(![event waitUntilSignaledValue:1 timeoutMS:30]);
    CHECK(seconds() - start >= 0.030);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [buffer encodeWaitForEvent:event value:5];
    [buffer encodeSignalEvent:event value:6];
    [buffer commit];
    CHECK(![event waitUntilSignaledValue:6 timeoutMS:10]);
    [event setSignaledValue:5];
    CHECK([event waitUntilSignaledValue:6 timeoutMS:UINT64_MAX]);
    [buffer waitUntilCompleted];
    CHECK([event signaledValue] == 6);
    [event setLabel:@"step"];
    MTLSharedEventHandle *handle = [event newSharedEventHandle];
    CHECK([[handle label] isEqual:@"step"]);
    id<MTLSharedEvent> same = [device newSharedEventWithHandle:handle];
    CHECK([same signaledValue] == 6);
    [same release];
    [handle release];
    [event release];
    [queue release];
}

static void test_notifications(void) {
    dispatch_queue_t dispatch_queue = dispatch_queue_create("listener", DISPATCH_QUEUE_SERIAL);
    MTLSharedEventListener *listener = [[MTLSharedEventListener alloc] initWithDispatchQueue:dispatch_queue];
    CHECK([listener dispatchQueue] == dispatch_queue);
    id<MTLSharedEvent> event = [device newSharedEvent];
    id<MTLSharedEvent> done = [device newSharedEvent];
    /* The blocks do not own the event. The event owns the blocks that are not delivered. */
    const void *expected = event;
    uint64_t values[3] = {0};
    uint64_t *seen = values; /* a block cannot refer to an array */
    for (uint64_t i = 0; i < 3; i++) {
        [event notifyListener:listener atValue:10 * (i + 1) block:^(id<MTLSharedEvent> which, uint64_t value) {
            CHECK((const void *)which == expected);
            seen[i] = value;
            [done setSignaledValue:[done signaledValue] + 1];
        }];
    }
    [event setSignaledValue:9];
    CHECK(![done waitUntilSignaledValue:1 timeoutMS:10]);
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [buffer encodeSignalEvent:event value:25];
    [buffer commit];
    CHECK([done waitUntilSignaledValue:2 timeoutMS:LONG_MS]);
    CHECK(![done waitUntilSignaledValue:3 timeoutMS:10]);
    CHECK(seen[0] == 25 && seen[1] == 25);
    /* A value that is reached already notifies at once. */
    [event notifyListener:listener atValue:3 block:^(id<MTLSharedEvent> which, uint64_t value) {
        (void)which;
        CHECK(value == 25);
        [done setSignaledValue:100];
    }];
    CHECK([done waitUntilSignaledValue:100 timeoutMS:LONG_MS]);
    CHECK_RAISES("listener must not be nil", [event notifyListener:(MTLSharedEventListener *_Nonnull)nil atValue:1
                                                             block:^(id<MTLSharedEvent> which, uint64_t value) {
                                                                 (void)which;
                                                                 (void)value;
                                                             }]);
    [buffer waitUntilCompleted];
    /* The third notification is released with the event and never delivered. */
    [event release];
    dispatch_sync(dispatch_queue, ^{ CHECK(seen[2] == 0); });
    [done release];
    [queue release];
    [listener release];
    dispatch_release(dispatch_queue);
}

/* A GPU fault ends the command buffer before its signal: the event stays as it is. */
static void test_no_signal_after_error(void) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLSharedEvent> event = [device newSharedEvent];
    smtl_inject_command_buffer_error(1, MTLCommandBufferErrorPageFault);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [buffer encodeSignalEvent:event value:1];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusError && [event signaledValue] == 0);
    [event release];
    [queue release];
}

static void test_dispatch_data(void) {
    __block int freed = 0;
    char array[] = "bytes";
    char *text = array;
    dispatch_data_t copied = dispatch_data_create(text, 5, nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    dispatch_data_t borrowed = dispatch_data_create(text, 5, nil, ^{ freed++; });
    text[0] = 'B';
    const void *bytes = NULL;
    size_t size = 0;
    dispatch_data_t map = dispatch_data_create_map(copied, &bytes, &size);
    CHECK(size == 5 && memcmp(bytes, "bytes", 5) == 0);
    dispatch_release(copied);
    CHECK(memcmp(bytes, "bytes", 5) == 0 && dispatch_data_get_size(map) == 5);
    dispatch_release(map);
    map = dispatch_data_create_map(borrowed, &bytes, NULL);
    CHECK(bytes == text);
    dispatch_release(map);
    CHECK(freed == 0);
    dispatch_release(borrowed);
    CHECK(freed == 1);
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_ping_pong);
        RUN(test_cpu);
        RUN(test_notifications);
        RUN(test_no_signal_after_error);
        RUN(test_dispatch_data);
    }
    return checks_report();
}
