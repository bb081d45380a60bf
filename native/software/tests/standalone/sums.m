/* Adds up numbers on the GPU with the kernel of a .metal file: `sums FILE.metal`. A program as a user writes it: it
 * knows nothing of this repository and is compiled with what pkg-config says. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

enum {
    COUNT = 100000,
    GROUPS = 8,
    THREADS = 128
};

/* Prints what went wrong and ends the program. */
static void fail(NSString *what, NSError *error) {
    fprintf(stderr, "sums: %s: %s\n", [what UTF8String], [[error localizedDescription] UTF8String]);
    exit(1);
}

static id<MTLComputePipelineState> pipeline(id<MTLDevice> device, NSString *path) {
    NSError *error = nil;
    NSString *source = [NSString stringWithContentsOfFile:path encoding:NSUTF8StringEncoding error:&error];
    if (source == nil) fail(path, error);
    MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
    options.preprocessorMacros = @{@"CHECKED" : @YES, @"TRACED" : @NO};
    id<MTLLibrary> library = [device newLibraryWithSource:source options:options error:&error];
    if (library == nil) fail(@"the library", error);
    id<MTLFunction> function = [library newFunctionWithName:@"partial_sums"];
    id<MTLComputePipelineState> state = [device newComputePipelineStateWithFunction:function error:&error];
    if (state == nil) fail(@"the pipeline", error);
    [function release];
    [library release];
    return state;
}

static double sum_on_gpu(id<MTLDevice> device, id<MTLComputePipelineState> state) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> staging = [device newBufferWithLength:COUNT * sizeof(float) options:MTLResourceStorageModeShared];
    id<MTLBuffer> values = [device newBufferWithLength:COUNT * sizeof(float) options:MTLResourceStorageModePrivate];
    id<MTLBuffer> sums = [device newBufferWithLength:GROUPS * sizeof(float) options:MTLResourceStorageModeShared];
    float *numbers = [staging contents];
    for (uint32_t i = 0; i < COUNT; i++) numbers[i] = (float)(i % 10);

    id<MTLSharedEvent> event = [device newSharedEvent];
    MTLSharedEventListener *listener = [[MTLSharedEventListener alloc] init];
    __block uint64_t seen = 0;
    [event notifyListener:listener atValue:1 block:^(id<MTLSharedEvent> signaled, uint64_t value) {
        seen = value;
        [signaled setSignaledValue:2];
    }];

    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit copyFromBuffer:staging sourceOffset:0 toBuffer:values destinationOffset:0 size:[values length]];
    [blit fillBuffer:sums range:NSMakeRange(0, [sums length]) value:0xff];
    [blit endEncoding];
    [commands encodeSignalEvent:event value:1];
    /* The listener lets the kernel start. */
    [commands encodeWaitForEvent:event value:2];
    id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    uint32_t count = COUNT;
    [compute setComputePipelineState:state];
    [compute setBuffer:values offset:0 atIndex:0];
    [compute setBytes:&count length:sizeof count atIndex:1];
    [compute setBuffer:sums offset:0 atIndex:2];
    [compute setThreadgroupMemoryLength:32 * sizeof(float) atIndex:0];
    [compute dispatchThreadgroups:MTLSizeMake(GROUPS, 1, 1) threadsPerThreadgroup:MTLSizeMake(THREADS, 1, 1)];
    [compute endEncoding];

    __block double total = 0;
    [commands addCompletedHandler:^(id<MTLCommandBuffer> completed) {
        if ([completed status] == MTLCommandBufferStatusCompleted) {
            const float *partial = [sums contents];
            for (int i = 0; i < GROUPS; i++) total += partial[i];
        }
    }];
    [commands commit];
    [commands waitUntilCompleted];
    if ([commands error] != nil || seen != 1) fail(@"the command buffer", [commands error]);

    [listener release];
    [event release];
    [sums release];
    [values release];
    [staging release];
    [queue release];
    return total;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: sums FILE.metal\n");
        return 2;
    }
    double total;
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        if (device == nil) fail(@"no Metal device", nil);
        id<MTLComputePipelineState> state = pipeline(device, [NSString stringWithUTF8String:argv[1]]);
        total = sum_on_gpu(device, state);
        printf("%s: the sum of %d numbers is %.0f\n", [[device name] UTF8String], COUNT, total);
        [state release];
        [device release];
    }
    return total == 450000 ? 0 : 1;
}
