/* How much of Metal exists, with Apple's: it counts no objects, but the bytes that the device has allocated. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

void mbts_count_objects(void);
int64_t mbts_live_objects(void);
void mbts_print_live_objects(void);

void mbts_count_objects(void) {}

int64_t mbts_live_objects(void) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        const int64_t bytes = (int64_t)[device currentAllocatedSize];
        [device release];
        return bytes;
    }
}

void mbts_print_live_objects(void) {
    fprintf(stderr, "%lld bytes allocated on the device\n", (long long)mbts_live_objects());
}
