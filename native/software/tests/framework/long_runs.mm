/* Under the sanitizer a program may commit and wait for as long as it likes: what the sanitizer knows about a command
 * buffer goes with it. */
#include "framework_test.h"

#include <atomic>
#include <cstdlib>
#include <new>

/* What the software Metal's C++ has allocated and not freed. */
static std::atomic<long> live_allocations;

void *operator new(std::size_t size) {
    void *memory = std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    ++live_allocations;
    return memory;
}

void operator delete(void *memory) noexcept {
    if (memory != nullptr) --live_allocations;
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept { operator delete(memory); }

static id<MTLDevice> device;
static id<MTLCommandQueue> queues[2];
static id<MTLFence> fence;
static id<MTLEvent> event;
static id<MTLSharedEvent> shared;

/* One command buffer on each queue, the second behind the first. */
static void commit_and_wait(uint64_t round) {
    id<MTLCommandBuffer> first = [queues[0] commandBuffer], second = [queues[1] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [first computeCommandEncoder];
    [encoder updateFence:fence];
    [encoder endEncoding];
    [first encodeSignalEvent:event value:round];
    [first encodeSignalEvent:shared value:2 * round];
    [second encodeWaitForEvent:event value:round];
    encoder = [second computeCommandEncoder];
    [encoder waitForFence:fence];
    [encoder endEncoding];
    [first commit];
    [second commit];
    CHECK([shared waitUntilSignaledValue:2 * round timeoutMS:LONG_MS]);
    [first waitUntilCompleted];
    [second waitUntilCompleted];
    [shared setSignaledValue:2 * round + 1];
}

/* Whether no more than `most` allocations live, once other threads have had time to free theirs. */
static bool falls_to(long most) {
    for (int i = 0; i < 10000 && live_allocations > most; i++) usleep(1000);
    if (live_allocations > most) fprintf(stderr, "%ld allocations, not %ld\n", live_allocations.load(), most);
    return live_allocations <= most;
}

static void run_rounds(uint64_t first, uint64_t last) {
    const int64_t objects = smtl_live_objects_total();
    for (uint64_t round = first; round <= last; round++) {
        @autoreleasepool {
            commit_and_wait(round);
        }
    }
    CHECK(settle(objects) == objects);
}

static void test_rounds(void) {
    run_rounds(1, 10);
    const long before = live_allocations;
    CHECK(before > 0);
    run_rounds(11, 200);
    CHECK(falls_to(before));
}

static void test_queues(void) {
    queues[0] = [device newCommandQueue];
    queues[1] = [device newCommandQueue];
    fence = [device newFence];
    event = [device newEvent];
    shared = [device newSharedEvent];
    test_rounds();
    for (id object : {(id)queues[0], (id)queues[1], (id)fence, (id)event, (id)shared}) [object release];
}

int main(void) {
    setenv("SOFTWARE_METAL_SANITIZE", "all", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_queues);
        /* Queues, fences and events leave nothing either. */
        const long before = live_allocations;
        RUN(test_queues);
        CHECK(falls_to(before));
        [device release];
    }
    return checks_report();
}
