/* The fault that metal-bridge guards against, on purpose: Metal called from a thread that has no autorelease pool. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

size_t mbts_metal_without_pool(size_t count);

/* Makes and runs `count` empty command buffers, which Metal returns autoreleased. Returns how many completed. */
size_t mbts_metal_without_pool(size_t count) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLCommandQueue> queue = [device newCommandQueue];
    size_t completed = 0;
    for (size_t i = 0; i < count; i++) {
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        [commands commit];
        [commands waitUntilCompleted];
        completed += [commands status] == MTLCommandBufferStatusCompleted;
    }
    [queue release];
    [device release];
    return completed;
}
