/* Kernels that go wrong end their command buffer with Metal's own error; process, device and other queues live on. */
#include "framework_kernels.h"

static id<MTLLibrary> library;

static NSString *const bad_source =
    @"#include <metal_stdlib>\n"
     "using namespace metal;\n"
     "kernel void wild(device int *values [[buffer(0)]], constant ulong &distance [[buffer(1)]]) {\n"
     "    values[distance] = 1; }\n"
     "kernel void null_read(device int *values [[buffer(0)]], constant ulong &address [[buffer(1)]]) {\n"
     "    values[0] = *(device int *)address; }\n"
     "kernel void endless(device atomic_int *values [[buffer(0)]]) {\n"
     "    while (atomic_load_explicit(&values[0], memory_order_relaxed) == 0) { } }\n"
     "int deep(int n, device int *values) { volatile int room[256]; room[n & 255] = n;\n"
     "    return n == 0 ? 0 : deep(n - 1, values) + room[(n * 7) & 255] + values[n & 1]; }\n"
     "kernel void recurse(device int *values [[buffer(0)]]) { values[0] = deep(10000000, values); }\n"
     "kernel void trap(device int *values [[buffer(0)]]) { if (values[0] == 0) __builtin_trap(); }\n"
     "kernel void fine(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) { values[i] = int(i); }\n";

static id<MTLCommandBuffer> dispatch(id<MTLCommandQueue> on, NSString *name, uint64_t second) {
    id<MTLComputePipelineState> pipeline = make_pipeline(library, name);
    id<MTLBuffer> values = make_ints(64, 0, 0);
    id<MTLCommandBuffer> buffer = [on commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:values offset:0 atIndex:0];
    [encoder setBytes:&second length:sizeof second atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    if ([buffer error] == nil) CHECK(are_ints(values, 0, 1));
    [values release];
    [pipeline release];
    return buffer;
}

/* Checks the error, and that the queue goes on after it. So does another queue, which has work at the same time. */
static void check_failure(NSString *name, uint64_t second, MTLCommandBufferError code, NSString *words) {
    id<MTLCommandQueue> other = [device newCommandQueue];
    id<MTLSharedEvent> event = [device newSharedEvent];
    id<MTLCommandBuffer> waiting = [other commandBuffer];
    [waiting encodeWaitForEvent:event value:1];
    [waiting commit];
    id<MTLCommandBuffer> failed = dispatch(queue, name, second);
    CHECK([failed status] == MTLCommandBufferStatusError);
    CHECK([[[failed error] domain] isEqual:MTLCommandBufferErrorDomain]);
    CHECK([[failed error] code] == (NSInteger)code);
    NSString *text = [[failed error] localizedDescription];
    CHECK([text rangeOfString:name].location != NSNotFound && [text rangeOfString:words].location != NSNotFound);
    [event setSignaledValue:1];
    [waiting waitUntilCompleted];
    CHECK([waiting status] == MTLCommandBufferStatusCompleted);
    CHECK([dispatch(other, @"fine", 0) status] == MTLCommandBufferStatusCompleted);
    CHECK([dispatch(queue, @"fine", 0) status] == MTLCommandBufferStatusCompleted);
    [event release];
    [other release];
}

static void test_wild_pointer(void) {
    check_failure(@"wild", (uint64_t)1 << 44, MTLCommandBufferErrorPageFault, @"Address Fault");
    check_failure(@"null_read", 8, MTLCommandBufferErrorPageFault, @"invalid memory at 0x8");
}

static void test_timeout(void) {
    check_failure(@"endless", 0, MTLCommandBufferErrorTimeout, @"0.2 s of SOFTWARE_METAL_TIMEOUT");
}

static void test_stack(void) { check_failure(@"recurse", 0, MTLCommandBufferErrorStackOverflow, @"more stack"); }

static void test_trap(void) { check_failure(@"trap", 0, MTLCommandBufferErrorInternal, @"trap"); }

static void check_launch(MTLSize group, NSString *says, void (^bind)(id<MTLComputeCommandEncoder> encoder)) {
    id<MTLBuffer> before = make_ints(64, 0, 0), after = make_ints(64, 0, 0);
    id<MTLComputePipelineState> fine = make_pipeline(library, @"fine");
    const MTLSize size = MTLSizeMake(64, 1, 1);
    id<MTLCommandBuffer> ended = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:fine];
        [encoder setBuffer:before offset:0 atIndex:0];
        [encoder dispatchThreads:size threadsPerThreadgroup:size];
        [encoder setBuffer:nil offset:0 atIndex:0];
        bind(encoder);
        [encoder dispatchThreads:size threadsPerThreadgroup:group];
        [encoder setBuffer:after offset:0 atIndex:0];
        [encoder dispatchThreads:size threadsPerThreadgroup:size];
    });
    NSError *error = [ended error];
    CHECK([ended status] == MTLCommandBufferStatusError && [[error domain] isEqual:MTLCommandBufferErrorDomain]);
    CHECK([error code] == MTLCommandBufferErrorInvalidResource);
    CHECK([[error localizedDescription] rangeOfString:says].location != NSNotFound);
    /* What came before it has run, what came after it has not, and the queue goes on. */
    CHECK(are_ints(before, 0, 1) && are_ints(after, 0, 0));
    CHECK([run(^(id<MTLComputeCommandEncoder> encoder) {
              [encoder setComputePipelineState:fine];
              [encoder setBuffer:after offset:0 atIndex:0];
              [encoder dispatchThreads:size threadsPerThreadgroup:size];
          }) status] == MTLCommandBufferStatusCompleted);
    CHECK(are_ints(after, 0, 1));
    [fine release];
    [before release];
    [after release];
}

/* A launch that is not possible ends its command buffer. */
static void test_launches(void) {
    id<MTLBuffer> values = make_ints(64, 0, 0);
    void (^with_argument)(id<MTLComputeCommandEncoder>) =
        ^(id<MTLComputeCommandEncoder> encoder) { [encoder setBuffer:values offset:0 atIndex:0]; };
    check_launch(MTLSizeMake(32, 1, 1), @"missing buffer binding at index 0",
                 ^(id<MTLComputeCommandEncoder> encoder) { (void)encoder; });
    check_launch(MTLSizeMake(1025, 1, 1), @"more than the pipeline's 1024 threads", with_argument);
    check_launch(MTLSizeMake(32, 32, 2), @"more than the pipeline's 1024 threads", with_argument);
    const MTLSize group = MTLSizeMake(32, 1, 1);
    id<MTLCommandBuffer> ended = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder dispatchThreadgroupsWithIndirectBuffer:values indirectBufferOffset:0 threadsPerThreadgroup:group];
    });
    CHECK([[[ended error] localizedDescription] rangeOfString:@"no compute pipeline state"].location != NSNotFound);
    CHECK(are_ints(values, 0, 0));
    [values release];
}

/* A dispatch without threads does nothing, whatever it lacks; what is around it runs. */
static void test_no_threads(void) {
    id<MTLComputePipelineState> fine = make_pipeline(library, @"fine");
    id<MTLBuffer> values = make_ints(64, 0, 0);
    const uint32_t counts[] = {0, 1, 1, 0, UINT32_MAX, 0};
    id<MTLBuffer> groups = [device newBufferWithBytes:counts length:sizeof counts options:0];
    const MTLSize some = MTLSizeMake(32, 1, 1), many = MTLSizeMake(NSUIntegerMax, 2, 2), size = MTLSizeMake(64, 1, 1);
    const MTLSize none[] = {MTLSizeMake(0, 1, 1), MTLSizeMake(1, 0, 1), MTLSizeMake(1, 1, 0), MTLSizeMake(0, 0, 0)};
    MTLComputePassDescriptor *pass = [MTLComputePassDescriptor computePassDescriptor];
    for (int lacks = 0; lacks < 3; lacks++) { /* nothing, a buffer, a pipeline too */
        for (int concurrent = 0; concurrent < 2; concurrent++) {
            id<MTLCommandBuffer> buffer = [queue commandBuffer];
            [pass setDispatchType:concurrent ? MTLDispatchTypeConcurrent : MTLDispatchTypeSerial];
            id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoderWithDescriptor:pass];
            if (lacks < 2) [encoder setComputePipelineState:fine];
            if (lacks < 1) [encoder setBuffer:values offset:0 atIndex:0];
            for (int i = 0; i < 4; i++) {
                [encoder dispatchThreads:none[i] threadsPerThreadgroup:some];
                [encoder dispatchThreads:some threadsPerThreadgroup:none[i]];
                [encoder dispatchThreadgroups:none[i] threadsPerThreadgroup:many];
                [encoder dispatchThreadgroups:many threadsPerThreadgroup:none[i]];
                [encoder dispatchThreadgroupsWithIndirectBuffer:groups indirectBufferOffset:4
                                          threadsPerThreadgroup:none[i]];
            }
            [encoder dispatchThreadgroupsWithIndirectBuffer:groups indirectBufferOffset:0 threadsPerThreadgroup:some];
            [encoder dispatchThreadgroupsWithIndirectBuffer:groups indirectBufferOffset:12 threadsPerThreadgroup:some];
            memset([values contents], 0, [values length]);
            [encoder setComputePipelineState:fine];
            [encoder setBuffer:values offset:0 atIndex:0];
            [encoder dispatchThreads:size threadsPerThreadgroup:some];
            [encoder endEncoding];
            [buffer commit];
            [buffer waitUntilCompleted];
            CHECK([buffer status] == MTLCommandBufferStatusCompleted && are_ints(values, 0, 1));
        }
    }
    [groups release];
    [values release];
    [fine release];
}

/* Misuse in other calls raises an exception, and changes nothing. */
static void test_misuse(void) {
    id<MTLComputePipelineState> fine = make_pipeline(library, @"fine");
    id<MTLBuffer> values = make_ints(64, 0, 0);
    const MTLSize group = MTLSizeMake(32, 1, 1);
    id nothing = nil;
    const void *nowhere = NULL;
    id<MTLCommandBuffer> done = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:fine];
        [encoder setBuffer:values offset:0 atIndex:0];
        CHECK_RAISES("must not be nil", [encoder setComputePipelineState:nothing]);
        CHECK_RAISES("bytes must not be NULL", [encoder setBytes:nowhere length:4 atIndex:0]);
        CHECK_RAISES("must be <= 4096", [encoder setBytes:[values contents] length:5000 atIndex:0]);
        CHECK_RAISES("not below 31", [encoder setBuffer:values offset:0 atIndex:31]);
        CHECK_RAISES("must be < [buffer length]", [encoder setBuffer:values offset:256 atIndex:0]);
        CHECK_RAISES("must not be nil", [encoder useResource:nothing usage:MTLResourceUsageRead]);
        CHECK_RAISES("must not be nil", [encoder waitForFence:nothing]);
        [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:group];
    });
    CHECK([done status] == MTLCommandBufferStatusCompleted && are_ints(values, 0, 1));
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    CHECK_RAISES("already encoding", [buffer blitCommandEncoder]);
    CHECK_RAISES("still encoding", [buffer commit]);
    [encoder endEncoding];
    CHECK_RAISES("has ended", [encoder endEncoding]);
    CHECK_RAISES("has ended", [encoder setBuffer:values offset:0 atIndex:0]);
    CHECK_RAISES("has ended", [encoder dispatchThreads:group threadsPerThreadgroup:group]);
    CHECK_RAISES("not committed", [buffer waitUntilCompleted]);
    [buffer commit];
    CHECK_RAISES("already committed", [buffer commit]);
    CHECK_RAISES("already committed", [buffer computeCommandEncoder]);
    CHECK_RAISES("is committed", [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) { (void)handed; }]);
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusCompleted);
    [values release];
    [fine release];
}

static void test_what_nothing_defines(void) {
    NSString *text = @"namespace far { int away(int x); }\n"
                      "extern constant int c;\n"
                      "kernel void lost(device int *values [[buffer(0)]]) { values[0] = far::away(3); }\n"
                      "kernel void unset(device int *values [[buffer(0)]]) { values[0] = c; }\n";
    NSError *error = nil;
    id<MTLLibrary> made = [[device newLibraryWithSource:text options:nil error:&error] autorelease];
    id<MTLFunction> lost = [[made newFunctionWithName:@"lost"] autorelease];
    CHECK([device newComputePipelineStateWithFunction:lost error:&error] == nil);
    CHECK([[error localizedDescription] hasPrefix:@"lost: function 'far::away(int)' is declared and called, but not "
                                                   "defined; the pipeline has no dynamic libraries"]);
    id<MTLFunction> unset = [[made newFunctionWithName:@"unset"] autorelease];
    CHECK([device newComputePipelineStateWithFunction:unset error:&error] == nil);
    CHECK([[error localizedDescription] isEqual:@"unset: 'c' is declared and used, and nothing defines it"]);
}

int main(void) {
    setenv("SOFTWARE_METAL_TIMEOUT", "0.2", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        NSError *error = nil;
        library = [device newLibraryWithSource:bad_source options:nil error:&error];
        CHECK(library != nil && error == nil);
        if (library == nil) {
            fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
            return checks_report();
        }
        RUN(test_wild_pointer);
        RUN(test_timeout);
        RUN(test_stack);
        RUN(test_trap);
        RUN(test_launches);
        RUN(test_no_threads);
        RUN(test_misuse);
        RUN(test_what_nothing_defines);
        [library release];
        [queue release];
    }
    return checks_report();
}
