/* Requests of residency are repeated for as long as was asked for, and no longer. A method that counts them takes the
 * place of Metal's. */
#import <Metal/Metal.h>

#include "harness.h"

#include "metal_bridge_memory.h"

#include <objc/runtime.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST = 16
};
static atomic_int requests;
/* When the first of them came. */
static uint64_t times[MOST];

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* One thread at a time calls this: the one that asks, and later the one that repeats. */
static void count_request(id set, SEL name) {
    (void)set;
    (void)name;
    int number = atomic_load(&requests);
    if (number < MOST) times[number] = now();
    atomic_store(&requests, number + 1);
}

static void replace_requests(void) {
    @autoreleasepool {
        id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
        MTLResidencySetDescriptor *descriptor = [[[MTLResidencySetDescriptor alloc] init] autorelease];
        id set = [[device newResidencySetWithDescriptor:descriptor error:NULL] autorelease];
        Method method = class_getInstanceMethod([set class], @selector(requestResidency));
        method_setImplementation(method, (IMP)(void (*)(void))count_request);
    }
}

/* A thread of a busy machine may come late, never early: each comes half a second after the one before, or later. */
static bool are_apart(int first, int last) {
    bool are = true;
    for (int i = first; i < last; i++) are = are && times[i + 1] - times[i] >= 500000000;
    return are;
}

int main(void) {
    enum {
        MILLISECOND = 1000,
        SECOND = 1000 * MILLISECOND
    };
    static const uint64_t in_nanoseconds = 1000000;
    mtb_residency_set *set;
    MAKE(shared.device, mtb_device_create_default(&error));
    if (mtb_device_supports_residency_sets(shared.device)) {
        replace_requests();
        MAKE(set, mtb_residency_set_create(shared.device, &error));
        /* One request is made, and not repeated. */
        CHECK_OK(mtb_residency_set_request(set, 0, &error));
        CHECK(atomic_load(&requests) == 1);
        usleep(700 * MILLISECOND);
        CHECK(atomic_load(&requests) == 1);
        /* Every half second, for a while: at once, and after 0.5 s and 1 s, unless the thread comes too late for that.
         */
        CHECK_OK(mtb_residency_set_request(set, 1100 * in_nanoseconds, &error));
        CHECK(atomic_load(&requests) == 2);
        usleep(2 * SECOND);
        int total = atomic_load(&requests);
        CHECK(total >= 2 && total <= 4 && are_apart(1, total - 1));
        /* Requests are repeated until mtb_residency_set_end. */
        CHECK_OK(mtb_residency_set_request(set, MTB_FOREVER, &error));
        AWAIT(atomic_load(&requests) >= total + 5);
        CHECK_OK(mtb_residency_set_end(set, &error));
        int last = atomic_load(&requests);
        /* The first of these may meet a request that was due before. */
        CHECK(last >= total + 5 && are_apart(total + 2, total + 4));
        usleep(700 * MILLISECOND);
        CHECK(atomic_load(&requests) == last);
        mtb_residency_set_release(set);
    }
    mtb_device_release(shared.device);
    printf("%s\n", failed_checks() ? "FAILED" : "all passed");
    return failed_checks() != 0;
}
