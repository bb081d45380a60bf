/* A process whose file descriptors are all in use when it asks for a device for the first time. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "framework_test.h"

int main(void) {
    enum {
        most = 64
    };
    const struct rlimit limit = {most, most};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int last = -1;
    for (int opened = 0; opened >= 0; opened = open("/dev/null", O_RDONLY))
        if (opened > last) last = opened;
    /* GNUstep needs some for the thread's first object. */
    id<MTLDevice> device = nil;
    CHECK_RAISES("pipe", device = MTLCreateSystemDefaultDevice());
    CHECK(device == nil);
    /* The process frees some and asks again. */
    for (int closed = last - 10; closed <= last; closed++) close(closed);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        CHECK(device != nil && [[device name] length] > 0);
        [device release];
    }
    return checks_report();
}
