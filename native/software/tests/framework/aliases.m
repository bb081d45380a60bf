/* The sanitizer knows memory by its bytes: buffers of one heap that lie over one another are in a race like one buffer.
 */
#include "framework_kernels.h"
#include <malloc.h>

static id<MTLComputePipelineState> add;

static id<MTLHeap> make_heap(MTLHeapType type) {
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:4096];
    [descriptor setStorageMode:MTLStorageModeShared];
    [descriptor setType:type];
    return [[device newHeapWithDescriptor:descriptor] autorelease];
}

static void encode_increment(id<MTLComputeCommandEncoder> encoder, id<MTLBuffer> buffer) {
    const int one = 1;
    [encoder setComputePipelineState:add];
    [encoder setBuffer:buffer offset:0 atIndex:0];
    [encoder setBytes:&one length:sizeof one atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
}

/* Increments both, the second on a queue of its own. Returns the number of reports. */
static size_t reports_of(id<MTLBuffer> first, id<MTLBuffer> second, bool ordered) {
    smtl_reports_clear();
    id<MTLCommandQueue> other = [[device newCommandQueue] autorelease];
    id<MTLEvent> event = [[device newEvent] autorelease];
    id<MTLCommandBuffer> commands[] = {[queue commandBuffer], [other commandBuffer]};
    for (int i = 0; i < 2; i++) {
        if (ordered && i == 1) [commands[i] encodeWaitForEvent:event value:1];
        encode_increment([commands[i] computeCommandEncoder], i == 0 ? first : second);
        if (ordered && i == 0) [commands[i] encodeSignalEvent:event value:1];
        [commands[i] commit];
    }
    for (int i = 0; i < 2; i++) [commands[i] waitUntilCompleted];
    return smtl_report_count();
}

static void test_placed(void) {
    id<MTLHeap> heap = make_heap(MTLHeapTypePlacement);
    id<MTLBuffer> buffers[4];
    const NSUInteger offsets[] = {0, 0, 256, 1024};
    for (int i = 0; i < 4; i++) {
        buffers[i] = [[heap newBufferWithLength:i == 0 ? 512 : 128 options:0 offset:offsets[i]] autorelease];
        memset([buffers[i] contents], 0, [buffers[i] length]);
    }
    CHECK(reports_of(buffers[0], buffers[1], false) > 0);
    CHECK(reports_of(buffers[0], buffers[1], true) == 0);
    /* The kernel writes 128 bytes of the first. */
    CHECK(reports_of(buffers[0], buffers[2], false) == 0);
    CHECK(reports_of(buffers[1], buffers[3], false) == 0);
}

static void test_made_aliasable(void) {
    id<MTLHeap> heap = make_heap(MTLHeapTypeAutomatic);
    id<MTLBuffer> first = [[heap newBufferWithLength:128 options:0] autorelease];
    [first makeAliasable];
    id<MTLBuffer> second = [[heap newBufferWithLength:128 options:0] autorelease];
    CHECK([first heapOffset] == [second heapOffset]);
    memset([second contents], 0, 128);
    CHECK(reports_of(first, second, false) > 0);
    CHECK(reports_of(second, first, true) == 0);
}

/* A buffer has nothing to do with one that was there before and is gone. */
static void test_reused(void) {
    id<MTLHeap> heap = make_heap(MTLHeapTypeAutomatic);
    NSUInteger offset = NSUIntegerMax;
    for (int i = 0; i < 8; i++) {
        @autoreleasepool {
            id<MTLBuffer> buffer = [[heap newBufferWithLength:128 options:0] autorelease];
            CHECK(i == 0 || [buffer heapOffset] == offset);
            offset = [buffer heapOffset];
            memset([buffer contents], 0, 128);
            id<MTLBuffer> other = [make_ints(32, 0, 1) autorelease];
            CHECK(reports_of(i % 2 == 0 ? buffer : other, i % 2 == 0 ? other : buffer, false) == 0);
        }
    }
}

/* One that is gone takes along what is known of its own bytes alone, not of those that another still has. */
static void test_released_between(void) {
    id<MTLHeap> heap = make_heap(MTLHeapTypePlacement);
    id<MTLBuffer> buffer = [[heap newBufferWithLength:128 options:0 offset:0] autorelease];
    memset([buffer contents], 0, 128);
    CHECK(reports_of(buffer, buffer, true) == 0);
    id<MTLCommandQueue> other = [[device newCommandQueue] autorelease];
    id<MTLCommandBuffer> commands[] = {[queue commandBuffer], [other commandBuffer]};
    for (int i = 0; i < 2; i++) {
        encode_increment([commands[i] computeCommandEncoder], buffer);
        [commands[i] commit];
        [[heap newBufferWithLength:256 options:0 offset:0] release];
    }
    for (int i = 0; i < 2; i++) [commands[i] waitUntilCompleted];
    CHECK(smtl_report_count() > 0);
}

/* What was encoded with a buffer finds its bytes, also if another got them after that. */
static void test_aliased_in_use(void) {
    id<MTLHeap> heap = make_heap(MTLHeapTypeAutomatic);
    id<MTLBuffer> first = [[heap newBufferWithLength:128 options:0] autorelease];
    for (int i = 0; i < 32; i++) ((int *)[first contents])[i] = 1000;
    smtl_reports_clear();
    id<MTLBuffer> copy = [make_ints(32, 0, 0) autorelease];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit copyFromBuffer:first sourceOffset:0 toBuffer:copy destinationOffset:0 size:128];
    [blit endEncoding];
    encode_increment([commands computeCommandEncoder], copy);
    [first makeAliasable];
    id<MTLBuffer> second = [[heap newBufferWithLength:128 options:0] autorelease];
    CHECK([first heapOffset] == [second heapOffset]);
    blit = [commands blitCommandEncoder];
    [blit fillBuffer:second range:NSMakeRange(0, 128) value:7];
    [blit endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    for (int i = 0; i < 32; i++) CHECK(((int *)[copy contents])[i] == 1001);
    CHECK(smtl_report_count() == 0);
}

static size_t allocated(void) {
    const struct mallinfo2 memory = mallinfo2();
    return memory.uordblks + memory.hblkhd;
}

/* What the sanitizer knows of a buffer of a heap that a kernel has taken byte by byte goes with the buffer. */
static void test_single_bytes_leave_nothing(void) {
    NSString *text = @"kernel void next(device char *x, uint i [[thread_position_in_grid]]) { x[i] += 1; }";
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:NULL];
    id<MTLComputePipelineState> next = make_pipeline(library, @"next");
    id<MTLHeap> heap = make_heap(MTLHeapTypeAutomatic);
    size_t after_some = 0;
    enum {
        SOME = 20,
        ALL = 4 * SOME
    };
    for (int i = 0; i < ALL; i++) {
        @autoreleasepool {
            id<MTLBuffer> buffer = [heap newBufferWithLength:4096 options:0];
            memset([buffer contents], 0, 4096);
            id<MTLCommandBuffer> commands = [queue commandBuffer];
            id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
            [encoder setComputePipelineState:next];
            [encoder setBuffer:buffer offset:0 atIndex:0];
            [encoder dispatchThreads:MTLSizeMake(4096, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
            [encoder endEncoding];
            [commands commit];
            [commands waitUntilCompleted];
            CHECK(((char *)[buffer contents])[4095] == 1);
            [buffer release];
        }
        if (i == SOME) after_some = allocated();
    }
    /* One buffer's would be more. */
    CHECK(allocated() < after_some + 100000);
    [next release];
    [library release];
}

int main(void) {
    setenv("SOFTWARE_METAL_SANITIZE", "all", 1);
    setenv("SOFTWARE_METAL_SANITIZE_QUIET", "1", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        id<MTLLibrary> library = make_library();
        add = make_pipeline(library, @"add");
        [library release];
        RUN(test_placed);
        RUN(test_made_aliasable);
        RUN(test_reused);
        RUN(test_released_between);
        RUN(test_aliased_in_use);
        RUN(test_single_bytes_leave_nothing);
        [add release];
        [queue release];
        [device release];
    }
    return checks_report();
}
