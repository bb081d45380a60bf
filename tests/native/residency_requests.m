/* Requests of residency are repeated for as long as was asked for, and no longer. Counted where Metal gets them: its method is
 * replaced by one that counts. */
#import <Metal/Metal.h>

#include "harness.h"

#include "metal_bridge_memory.h"

#include <objc/runtime.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int requests;

static void count_request(id set, SEL name)
{
    (void)set;
    (void)name;
    atomic_fetch_add(&requests, 1);
}

static void replace_requests(void)
{
    @autoreleasepool {
        id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
        MTLResidencySetDescriptor *descriptor = [[[MTLResidencySetDescriptor alloc] init] autorelease];
        id set = [[device newResidencySetWithDescriptor:descriptor error:NULL] autorelease];
        Method method = class_getInstanceMethod([set class], @selector(requestResidency));
        method_setImplementation(method, (IMP)(void (*)(void))count_request);
    }
}

/* So many in the time, give or take one that is just due. */
static bool are_counted_in(int expected, useconds_t microseconds)
{
    atomic_store(&requests, 0);
    usleep(microseconds);
    int seen = atomic_load(&requests);
    return seen >= expected - 1 && seen <= expected + 1;
}

int main(void)
{
    enum { MILLISECOND = 1000, SECOND = 1000 * MILLISECOND };
    static const uint64_t in_nanoseconds = 1000000;
    mtb_residency_set *set;
    MAKE(shared.device, mtb_device_create_default(&error));
    if (mtb_device_supports_residency_sets(shared.device)) {
        replace_requests();
        MAKE(set, mtb_residency_set_create(shared.device, &error));
        /* Once. */
        CHECK_OK(mtb_residency_set_request(set, 0, &error));
        CHECK(atomic_load(&requests) == 1);
        usleep(700 * MILLISECOND);
        CHECK(atomic_load(&requests) == 1);
        /* Every half second, for a while: at once, after 0.5 s and after 1 s. */
        CHECK_OK(mtb_residency_set_request(set, 1100 * in_nanoseconds, &error));
        CHECK(atomic_load(&requests) == 2);
        usleep(2 * SECOND);
        CHECK(atomic_load(&requests) >= 3 && atomic_load(&requests) <= 5);
        int total = atomic_load(&requests);
        usleep(700 * MILLISECOND);
        CHECK(atomic_load(&requests) == total);
        /* Until the end. */
        CHECK_OK(mtb_residency_set_request(set, MTB_FOREVER, &error));
        CHECK(are_counted_in(4, 2 * SECOND));
        CHECK_OK(mtb_residency_set_end(set, &error));
        atomic_store(&requests, 0);
        usleep(700 * MILLISECOND);
        CHECK(atomic_load(&requests) == 0);
        mtb_residency_set_release(set);
    }
    mtb_device_release(shared.device);
    printf("%s\n", failed_checks() ? "FAILED" : "all passed");
    return failed_checks() != 0;
}
