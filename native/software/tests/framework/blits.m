/* Blits and their misuse. */
#include "framework_test.h"
#include <stdlib.h>

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;

static void test_copy_and_fill(void) {
    id<MTLBuffer> shared = [device newBufferWithLength:1000 options:MTLResourceStorageModeShared];
    id<MTLBuffer> private = [device newBufferWithLength:1000 options:MTLResourceStorageModePrivate];
    memset([shared contents], 5, 1000);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    [encoder fillBuffer:private range:NSMakeRange(0, 1000) value:6];
    [encoder copyFromBuffer:shared sourceOffset:1 toBuffer:private destinationOffset:100 size:300];
    [encoder fillBuffer:shared range:NSMakeRange(0, 1000) value:0];
    [encoder copyFromBuffer:private sourceOffset:0 toBuffer:shared destinationOffset:0 size:999];
    [encoder copyFromBuffer:shared sourceOffset:0 toBuffer:shared destinationOffset:500 size:500];
    [encoder endEncoding];
    /* Nothing happens before the commit. */
    CHECK(all_bytes([shared contents], 1000, 5));
    [buffer commit];
    [buffer waitUntilCompleted];
    const uint8_t *bytes = [shared contents];
    CHECK(all_bytes(bytes, 100, 6) && all_bytes(bytes + 100, 300, 5) && all_bytes(bytes + 400, 100, 6));
    CHECK(all_bytes(bytes + 500, 100, 6) && all_bytes(bytes + 600, 300, 5) && all_bytes(bytes + 900, 100, 6));
    [shared release];
    [private release];
}

/* More commands than a chunk of the stream holds, and one encoder after the other. */
static void test_many_commands(void) {
    enum {
        COUNT = 20000
    };
    id<MTLBuffer> shared = [device newBufferWithLength:COUNT options:0];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    for (int part = 0; part < 4; part++) {
        id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
        for (NSUInteger i = 0; i < COUNT / 4; i++) {
            NSUInteger at = (NSUInteger)part * (COUNT / 4) + i;
            [encoder fillBuffer:shared range:NSMakeRange(at, 1) value:(uint8_t)(at * 7)];
        }
        [encoder endEncoding];
    }
    [buffer commit];
    [buffer waitUntilCompleted];
    const uint8_t *bytes = [shared contents];
    NSUInteger right = 0;
    for (NSUInteger i = 0; i < COUNT; i++) right += bytes[i] == (uint8_t)(i * 7);
    CHECK(right == COUNT);
    [shared release];
}

/* Blits that are divided among threads, each of which reads what the one before it has written. */
static void test_large_blits_in_order(void) {
    enum {
        LENGTH = (3 << 20) + 8,
        STEPS = 12,
        STEP = 4100
    };
    id<MTLBuffer> shared = [device newBufferWithLength:LENGTH options:MTLResourceStorageModeShared];
    id<MTLBuffer> private = [device newBufferWithLength:LENGTH options:MTLResourceStorageModePrivate];
    id<MTLBuffer> managed = [device newBufferWithLength:LENGTH options:MTLResourceStorageModeManaged];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    [encoder fillBuffer:private range:NSMakeRange(0, LENGTH) value:1];
    for (uint8_t i = 0; i < STEPS; i++) {
        /* All but the last bytes move on by STEP, and the first bytes are filled anew. */
        [encoder copyFromBuffer:private sourceOffset:0 toBuffer:shared destinationOffset:STEP size:LENGTH - STEP];
        [encoder fillBuffer:shared range:NSMakeRange(0, STEP) value:i + 2];
        [encoder copyFromBuffer:shared sourceOffset:0 toBuffer:private destinationOffset:0 size:LENGTH];
    }
    [encoder copyFromBuffer:private sourceOffset:0 toBuffer:managed destinationOffset:0 size:LENGTH];
    [encoder synchronizeResource:managed];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    const uint8_t *bytes = [managed contents];
    for (size_t i = 0; i < STEPS; i++) CHECK(all_bytes(bytes + i * STEP, STEP, (uint8_t)(STEPS + 1 - i)));
    CHECK(all_bytes(bytes + STEPS * STEP, LENGTH - STEPS * STEP, 1));
    CHECK(memcmp(bytes, [shared contents], LENGTH) == 0);
    [managed release];
    [shared release];
    [private release];
}

/* Each pass copies the whole of one buffer to another in small pieces, or fills it if there is no buffer to copy from.
 * Passes read or overwrite what other passes read or write. Pieces of one pass have nothing to do with each other. */
static void test_passes_of_small_blits(void) {
    enum {
        BUFFERS = 3,
        LENGTH = 1 << 20,
        PIECE = 4100,
        ROUNDS = 20,
        FILL = -1
    };
    static const int passes[][2] = {{0, 1}, {1, 2}, {FILL, 0}, {0, 1}, {FILL, 1}, {1, 0}, {2, 1}, {FILL, 2}};
    id<MTLBuffer> buffers[BUFFERS];
    uint8_t *expected[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = [device newBufferWithLength:LENGTH options:MTLResourceStorageModeShared];
        expected[i] = calloc(1, LENGTH);
    }
    uint8_t value = 0;
    for (int round = 0; round < ROUNDS; round++) {
        id<MTLCommandBuffer> buffer = [queue commandBuffer];
        id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
        for (size_t pass = 0; pass < sizeof passes / sizeof passes[0]; pass++) {
            const int from = passes[pass][0], to = passes[pass][1];
            for (NSUInteger at = 0; at < LENGTH; at += PIECE) {
                const NSUInteger size = at + PIECE < LENGTH ? PIECE : LENGTH - at;
                if (from == FILL) {
                    [encoder fillBuffer:buffers[to] range:NSMakeRange(at, size) value:++value];
                    memset(expected[to] + at, value, size);
                } else {
                    [encoder copyFromBuffer:buffers[from] sourceOffset:at toBuffer:buffers[to] destinationOffset:at
                                       size:size];
                }
            }
            if (from != FILL) memcpy(expected[to], expected[from], LENGTH);
        }
        [encoder endEncoding];
        [buffer commit];
        [buffer waitUntilCompleted];
        for (int i = 0; i < BUFFERS; i++) CHECK(memcmp([buffers[i] contents], expected[i], LENGTH) == 0);
    }
    for (int i = 0; i < BUFFERS; i++) {
        [buffers[i] release];
        free(expected[i]);
    }
}

static void test_misuse(void) {
    id<MTLBuffer> small = [device newBufferWithLength:16 options:0];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    const NSRange far = {NSUIntegerMax, 2}; /* NSMakeRange refuses it */
    CHECK_RAISES("must not be nil", [encoder fillBuffer:(id _Nonnull)nil range:NSMakeRange(0, 1) value:0]);
    CHECK_RAISES("exceeds the buffer's length", [encoder fillBuffer:small range:NSMakeRange(8, 9) value:0]);
    CHECK_RAISES("exceeds the buffer's length", [encoder fillBuffer:small range:far value:0]);
    CHECK_RAISES("a read of 17 bytes", [encoder copyFromBuffer:small sourceOffset:0 toBuffer:small destinationOffset:0
                                                          size:17]);
    CHECK_RAISES("overlap", [encoder copyFromBuffer:small sourceOffset:0 toBuffer:small destinationOffset:4 size:8]);
    CHECK_RAISES("not managed", [encoder synchronizeResource:small]);
    CHECK_RAISES("fence must not be nil", [encoder updateFence:(id _Nonnull)nil]);
    id<MTLFence> fence = [device newFence];
    [encoder waitForFence:fence];
    [encoder updateFence:fence];
    CHECK_RAISES("this encoder has updated the fence", [encoder waitForFence:fence]);
    [encoder endEncoding];
    CHECK_RAISES("has ended", [encoder fillBuffer:small range:NSMakeRange(0, 1) value:0]);
    CHECK_RAISES("has ended", [encoder endEncoding]);
    /* The calls that raised have left the command buffer usable. */
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusCompleted);
    [fence release];
    [small release];
}

int main(void) {
    /* The same number of threads, however many cores there are. */
    setenv("SOFTWARE_METAL_THREADS", "4", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_copy_and_fill);
        RUN(test_many_commands);
        RUN(test_large_blits_in_order);
        RUN(test_passes_of_small_blits);
        RUN(test_misuse);
        [queue release];
    }
    return checks_report();
}
