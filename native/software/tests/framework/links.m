/* SOFTWARE_METAL_LINK: what crosses a link takes its time, and nothing else does. */
#include "framework_test.h"

#include "support/settings.h"
#include <stdlib.h>
#include <sys/wait.h>

#define SIZE (1u << 20)
/* 0.1 GB/s and 2000 us. */
#define LINK "0.1,2000"
#define LATENCY 2e-3
#define TIME (LATENCY + SIZE / 1e8)

static id<MTLDevice> device, other;
static id<MTLCommandQueue> queue;

/* What a process reads that has this setting. Read in a child, since a process reads settings once. */
static bool is_read_as(const char *text, double bytes_per_second, double latency) {
    const pid_t child = fork();
    if (child == 0) {
        setenv("SOFTWARE_METAL_LINK", text, 1);
        const smtl_link_speed link = smtl_settings_get()->link;
        /* Products with powers of ten are rounded. */
        const double slack = 1e-9;
        const bool same = link.bytes_per_second >= bytes_per_second * (1 - slack) &&
                          link.bytes_per_second <= bytes_per_second * (1 + slack) &&
                          link.latency >= latency * (1 - slack) && link.latency <= latency * (1 + slack);
        _exit(same ? 0 : 1);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void test_settings(void) {
    CHECK(is_read_as("16,5", 16e9, 5e-6) && is_read_as("0.5,0", 5e8, 0) && is_read_as("1e6,1e6", 1e15, 1));
    static const char *const wrong[] = {"",      "16",     "16,",    ",5",     "16,5,",  "16, 5 ", "16;5",     "x,5",
                                        "16,x",  "0,5",    "-1,5",   "16,-1",  "nan,5",  "16,nan", "inf,5",    "16,inf",
                                        "1e7,5", "16,1e7", "16GB,5", "16,5us", "1e-9,5", "16 ,5",  "16,5 16,5"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const bool refused = is_read_as(wrong[i], 0, 0);
        if (!refused) fprintf(stderr, "\"%s\" is not refused\n", wrong[i]);
        CHECK(refused);
    }
}

static void test_transfer_rate(void) {
    CHECK([device location] == MTLDeviceLocationSlot && [device maxTransferRate] == 100000000);
}

/* The seconds that the GPU takes for what is encoded. */
static double run(void (^encode)(id<MTLBlitCommandEncoder> encoder)) {
    id<MTLCommandBuffer> command_buffer = run_blits(queue, encode);
    return [command_buffer GPUEndTime] - [command_buffer GPUStartTime];
}

static double copy(id<MTLBuffer> from, id<MTLBuffer> to, NSUInteger size) {
    return run(^(id<MTLBlitCommandEncoder> encoder) {
        [encoder copyFromBuffer:from sourceOffset:0 toBuffer:to destinationOffset:0 size:size];
    });
}

/* On a busy machine anything may take long, so one quick copy out of many is enough. */
static bool is_quick(double (^attempt)(void)) {
    for (int i = 0; i < 1000; i++)
        if (attempt() < TIME) return true;
    return false;
}

static void test_copies(void) {
    id<MTLBuffer> shared = [device newBufferWithLength:SIZE options:MTLResourceStorageModeShared];
    id<MTLBuffer> hidden = [device newBufferWithLength:SIZE options:MTLResourceStorageModePrivate];
    id<MTLBuffer> target = [device newBufferWithLength:SIZE options:MTLResourceStorageModePrivate];
    id<MTLBuffer> managed = [device newBufferWithLength:SIZE options:MTLResourceStorageModeManaged];
    id<MTLBuffer> theirs = [other newBufferWithLength:SIZE options:MTLResourceStorageModePrivate];
    id<MTLBuffer> view = [theirs newRemoteBufferViewForDevice:device];
    memset([shared contents], 7, SIZE);

    /* The private buffers' pages are there after these. */
    CHECK(copy(shared, hidden, SIZE) >= TIME);
    CHECK(copy(hidden, shared, SIZE) >= TIME);
    CHECK(copy(shared, managed, SIZE) >= TIME);
    CHECK(copy(view, target, SIZE) >= TIME);
    CHECK(copy(view, target, 4) >= LATENCY);
    CHECK(is_quick(^{ return copy(hidden, target, SIZE); }));
    CHECK(is_quick(^{ return copy(managed, target, SIZE); }));

    /* Each copy takes its own time, and the order is kept. */
    memset([shared contents], 9, SIZE);
    CHECK(run(^(id<MTLBlitCommandEncoder> encoder) {
              [encoder copyFromBuffer:shared sourceOffset:0 toBuffer:hidden destinationOffset:0 size:SIZE];
              [encoder fillBuffer:hidden range:NSMakeRange(0, SIZE / 2) value:3];
              [encoder copyFromBuffer:hidden sourceOffset:0 toBuffer:shared destinationOffset:0 size:SIZE];
          }) >= 2 * TIME);
    const uint8_t *bytes = [shared contents];
    CHECK(all_bytes(bytes, SIZE / 2, 3) && all_bytes(bytes + SIZE / 2, SIZE / 2, 9));

    CHECK(run(^(id<MTLBlitCommandEncoder> encoder) { [encoder synchronizeResource:managed]; }) >= TIME);
    CHECK(all_bytes([managed contents], SIZE, 7));
    for (id object in [NSArray arrayWithObjects:shared, hidden, target, managed, view, theirs, nil]) [object release];
}

int main(void) {
    test_settings();
    setenv("SOFTWARE_METAL_LINK", LINK, 1);
    setenv("SOFTWARE_METAL_DEVICES", "2", 1);
    setenv("SOFTWARE_METAL_PEERS", "1", 1);
    setenv("SOFTWARE_METAL_UNIFIED", "0", 1);
    @autoreleasepool {
        NSArray *devices = MTLCopyAllDevices();
        device = [devices objectAtIndex:0];
        other = [devices objectAtIndex:1];
        queue = [device newCommandQueue];
        RUN(test_transfer_rate);
        RUN(test_copies);
        [queue release];
        [devices release];
    }
    return checks_report();
}
