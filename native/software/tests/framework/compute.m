/* Pipelines and compute encoders, from source text to results. */
#include "framework_kernels.h"

static void test_dispatches(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> add = make_pipeline(library, @"add");
    id<MTLComputePipelineState> total = make_pipeline(library, @"total");
    id<MTLComputePipelineState> scaled = make_pipeline(library, @"scaled");
    CHECK([add threadExecutionWidth] == 32 && [add maxTotalThreadsPerThreadgroup] == 1024);
    CHECK([add staticThreadgroupMemoryLength] == 0 && [add device] == device);
    id<MTLBuffer> values = make_ints(1000, 0, 1);
    int five = 5;
    id<MTLCommandBuffer> buffer = run(^(id<MTLComputeCommandEncoder> encoder) {
        int amount = five;
        [encoder setComputePipelineState:add];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder setBytes:&amount length:sizeof amount atIndex:1];
        amount = 99; /* the bytes were copied */
      /* Ragged: 1000 is not a multiple of 64. */
        [encoder dispatchThreads:MTLSizeMake(1000, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    });
    CHECK([buffer status] == MTLCommandBufferStatusCompleted);
    CHECK(are_ints(values, 5, 1));

    /* Bindings stay from one dispatch to the next, and an offset can be moved. */
    run(^(id<MTLComputeCommandEncoder> encoder) {
        int amount = 1;
        [encoder setComputePipelineState:add];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder setBytes:&amount length:sizeof amount atIndex:1];
        for (int part = 0; part < 10; part++) {
            [encoder setBufferOffset:(NSUInteger)part * 400 atIndex:0];
            [encoder dispatchThreadgroups:MTLSizeMake(10, 1, 1) threadsPerThreadgroup:MTLSizeMake(10, 1, 1)];
        }
    });
    CHECK(are_ints(values, 6, 1));

    id<MTLBuffer> sums = make_ints(4, 0, 0);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        const id<MTLBuffer> buffers[] = {values, nil, sums};
        const NSUInteger offsets[] = {0, 0, 0};
        [encoder setComputePipelineState:total];
        [encoder setBuffers:buffers offsets:offsets withRange:NSMakeRange(0, 3)];
        /* A call that raises changes nothing. */
        const id<MTLBuffer> others[] = {sums, sums};
        const NSUInteger beyond[] = {0, 1 << 20};
        CHECK_RAISES("must be < [buffer length]", [encoder setBuffers:others offsets:beyond
                                                            withRange:NSMakeRange(0, 2)]);
        [encoder setThreadgroupMemoryLength:64 * sizeof(int) atIndex:0];
        [encoder dispatchThreadgroups:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    });
    CHECK(are_ints(sums, 64 * 6 + 2016, 64 * 64));

    /* The grid's size comes from a buffer, written by the GPU before. */
    id<MTLBuffer> grid = [device newBufferWithLength:16 options:MTLResourceStorageModeShared];
    uint32_t groups[4] = {0, 7, 1, 1};
    memcpy([grid contents], groups, sizeof groups);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:scaled];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder dispatchThreadgroupsWithIndirectBuffer:grid indirectBufferOffset:4
                                  threadsPerThreadgroup:MTLSizeMake(20, 1, 1)];
      /* No threads, no work. */
        [encoder dispatchThreads:MTLSizeMake(0, 1, 1) threadsPerThreadgroup:MTLSizeMake(20, 1, 1)];
    });
    CHECK(((int *)[values contents])[139] == 417 && ((int *)[values contents])[140] == 146);
    [grid release];
    [sums release];
    [values release];
    [scaled release];
    [total release];
    [add release];
    [library release];
}

static void test_concurrent_encoder(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> add = make_pipeline(library, @"add");
    id<MTLBuffer> values = make_ints(256, 0, 0);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    MTLComputePassDescriptor *descriptor = [MTLComputePassDescriptor computePassDescriptor];
    [descriptor setDispatchType:MTLDispatchTypeConcurrent];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoderWithDescriptor:descriptor];
    CHECK([encoder dispatchType] == MTLDispatchTypeConcurrent);
    int amount = 1;
    [encoder setComputePipelineState:add];
    [encoder setBuffer:values offset:0 atIndex:0];
    [encoder setBytes:&amount length:sizeof amount atIndex:1];
    [encoder useResource:values usage:MTLResourceUsageRead | MTLResourceUsageWrite];
    for (int i = 0; i < 100; i++) {
        [encoder dispatchThreads:MTLSizeMake(256, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
        if (i % 2 == 0) {
            [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
        } else {
            const id<MTLResource> resources[] = {values};
            [encoder memoryBarrierWithResources:resources count:1];
        }
    }
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(are_ints(values, 100, 0));
    [values release];
    [add release];
    [library release];
}

/* An argument that a function constant removes is neither reflected nor asked for. */
static void test_conditional_argument(void) {
    id<MTLLibrary> library = make_library();
    id<MTLBuffer> values = make_ints(8, 0, 1);
    id<MTLBuffer> extra = make_ints(8, 10, 1);
    for (int present = 0; present < 2; present++) {
        bool twice = present;
        NSError *error = nil;
        MTLFunctionConstantValues *constants = [[[MTLFunctionConstantValues alloc] init] autorelease];
        [constants setConstantValue:&twice type:MTLDataTypeBool atIndex:1];
        id<MTLFunction> function = [library newFunctionWithName:@"gated" constantValues:constants error:&error];
        MTLComputePipelineReflection *reflection = nil;
        id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function
                                                                                   options:MTLPipelineOptionBindingInfo
                                                                                reflection:&reflection
                                                                                     error:&error];
        CHECK([[reflection bindings] count] == (NSUInteger)present + 1);
        run(^(id<MTLComputeCommandEncoder> encoder) {
            const MTLSize size = MTLSizeMake(8, 1, 1);
            [encoder setComputePipelineState:pipeline];
            [encoder setBuffer:values offset:0 atIndex:0];
            if (present) {
                CHECK_RAISES("missing buffer binding at index 1 for extra", [encoder dispatchThreads:size
                                                                                threadsPerThreadgroup:size]);
                [encoder setBuffer:extra offset:0 atIndex:1];
            }
            [encoder dispatchThreads:size threadsPerThreadgroup:size];
        });
        [pipeline release];
        [function release];
    }
    CHECK(are_ints(values, 11, 2));
    [extra release];
    [values release];
    [library release];
}

/* An argument whose value has no effect may stay unbound: the machine code does not use it, and the reflection says so.
 */
static void test_unused_argument(void) {
    id<MTLLibrary> library = make_library();
    id<MTLBuffer> values = make_ints(8, 0, 1);
    NSError *error = nil;
    id<MTLFunction> function = [library newFunctionWithName:@"ignoring"];
    MTLComputePipelineReflection *reflection = nil;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function
                                                                               options:MTLPipelineOptionBindingInfo
                                                                            reflection:&reflection
                                                                                 error:&error];
    CHECK([[reflection bindings] count] == 3);
    for (id<MTLBinding> binding in [reflection bindings])
        CHECK([binding isUsed] == ([binding type] == MTLBindingTypeBuffer && [binding index] == 0));
    run(^(id<MTLComputeCommandEncoder> encoder) {
        const MTLSize size = MTLSizeMake(8, 1, 1);
        [encoder setComputePipelineState:pipeline];
        CHECK_RAISES("missing buffer binding at index 0 for values", [encoder dispatchThreads:size
                                                                         threadsPerThreadgroup:size]);
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder dispatchThreads:size threadsPerThreadgroup:size];
    });
    CHECK(are_ints(values, 5, 0));
    [pipeline release];
    [function release];
    [values release];
    [library release];
}

static void test_reflection(void) {
    id<MTLLibrary> library = make_library();
    id<MTLFunction> function = [library newFunctionWithName:@"total"];
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function];
    [descriptor setLabel:@"sums"];
    [descriptor setMaxTotalThreadsPerThreadgroup:128];
    MTLComputePipelineReflection *reflection = nil;
    NSError *error = nil;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:MTLPipelineOptionBindingInfo
                                                                              reflection:&reflection
                                                                                   error:&error];
    CHECK([[pipeline label] isEqual:@"sums"] && [pipeline maxTotalThreadsPerThreadgroup] == 128);
    CHECK([[reflection bindings] count] == 3 && [[reflection arguments] count] == 3);
    id<MTLBufferBinding> in = (id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:0];
    CHECK([[in name] isEqual:@"in"] && [in type] == MTLBindingTypeBuffer && [in index] == 0);
    CHECK([in access] == MTLBindingAccessReadOnly && [in isUsed] && [in bufferDataSize] == 4);
    CHECK([in bufferAlignment] == 4);
    id<MTLBinding> out = [[reflection bindings] objectAtIndex:1];
    CHECK([out access] == MTLBindingAccessReadWrite && [out index] == 2);
    MTLArgument *scratch = [[reflection arguments] objectAtIndex:2];
    CHECK([scratch type] == MTLArgumentTypeThreadgroupMemory && [[scratch name] isEqual:@"scratch"]);
    [descriptor setMaxTotalThreadsPerThreadgroup:2048];
    CHECK_RAISES("exceeds the device's 1024", [device newComputePipelineStateWithDescriptor:descriptor
                                                                                    options:MTLPipelineOptionNone
                                                                                 reflection:NULL
                                                                                      error:&error]);
    [descriptor reset];
    CHECK_RAISES("computeFunction must not be nil", [device newComputePipelineStateWithDescriptor:descriptor
                                                                                          options:MTLPipelineOptionNone
                                                                                       reflection:NULL
                                                                                            error:&error]);
    [pipeline release];
    [function release];
    [library release];
}

/* Threadgroup memory that the host does not give is not there: what touches it ends the command buffer. */
static void test_absent_threadgroup_memory(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> total = make_pipeline(library, @"total");
    id<MTLBuffer> values = make_ints(64, 1, 0);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:total];
    [encoder setBuffer:values offset:0 atIndex:0];
    [encoder setBuffer:values offset:0 atIndex:2];
    [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusError && [buffer error] != nil);
    [values release];
    [total release];
    [library release];
}

static void test_misuse(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> total = make_pipeline(library, @"total");
    id<MTLBuffer> values = make_ints(64, 1, 0);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    const MTLSize one = MTLSizeMake(1, 1, 1);
    CHECK_RAISES("no compute pipeline state", [encoder dispatchThreads:one threadsPerThreadgroup:one]);
    CHECK_RAISES("must not be nil", [encoder setComputePipelineState:(id _Nonnull)nil]);
    [encoder setComputePipelineState:total];
    CHECK_RAISES("missing buffer binding at index 0 for in", [encoder dispatchThreads:one threadsPerThreadgroup:one]);
    [encoder setBuffer:values offset:0 atIndex:0];
    [encoder setBuffer:values offset:0 atIndex:2];
    [encoder setThreadgroupMemoryLength:16 atIndex:0];
    [encoder setBuffer:values offset:254 atIndex:2];
    CHECK_RAISES("has space for 2 bytes", [encoder dispatchThreads:one threadsPerThreadgroup:one]);
    [encoder setBuffer:values offset:0 atIndex:2];
    CHECK_RAISES("offset(256) must be < [buffer length](256)", [encoder setBuffer:values offset:256 atIndex:0]);
    CHECK_RAISES("index 31 is not below 31", [encoder setBuffer:values offset:0 atIndex:31]);
    CHECK_RAISES("no buffer is bound", [encoder setBufferOffset:0 atIndex:5]);
    static const char bytes[5000];
    CHECK_RAISES("length(4097) must be <= 4096", [encoder setBytes:bytes length:4097 atIndex:1]);
    CHECK_RAISES("length must not be 0", [encoder setBytes:bytes length:0 atIndex:1]);
    [encoder setBytes:bytes length:4096 atIndex:1];
    CHECK_RAISES("multiple of 16", [encoder setThreadgroupMemoryLength:20 atIndex:0]);
    CHECK_RAISES("must be <= 32768", [encoder setThreadgroupMemoryLength:32784 atIndex:0]);
    CHECK_RAISES("must have no zero", [encoder dispatchThreads:one threadsPerThreadgroup:MTLSizeMake(1, 0, 1)]);
    CHECK_RAISES("more than the pipeline's 1024", [encoder dispatchThreads:one
                                                      threadsPerThreadgroup:MTLSizeMake(32, 33, 1)]);
    CHECK_RAISES("more than the pipeline's 1024", [encoder dispatchThreads:one
                                                      threadsPerThreadgroup:MTLSizeMake(NSUIntegerMax, 2, 1)]);
    CHECK_RAISES("the grid has more than", [encoder dispatchThreadgroups:MTLSizeMake(1ul << 31, 1, 1)
                                                   threadsPerThreadgroup:MTLSizeMake(2, 1, 1)]);
    CHECK_RAISES("multiple of 4", [encoder dispatchThreadgroupsWithIndirectBuffer:values indirectBufferOffset:2
                                                            threadsPerThreadgroup:one]);
    CHECK_RAISES("exceed the buffer's length", [encoder dispatchThreadgroupsWithIndirectBuffer:values
                                                                          indirectBufferOffset:248
                                                                         threadsPerThreadgroup:one]);
    CHECK_RAISES("scope", [encoder memoryBarrierWithScope:MTLBarrierScopeRenderTargets]);
    [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    [encoder endEncoding];
    CHECK_RAISES("has ended", [encoder dispatchThreads:one threadsPerThreadgroup:one]);
    CHECK_RAISES("has ended", [encoder setBuffer:values offset:0 atIndex:0]);
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([buffer status] == MTLCommandBufferStatusCompleted && *(int *)[values contents] == 4);
    [values release];
    [total release];
    [library release];
}

int main(void) {
    /* Misuse raises where it is: bad_kernels.m tests what happens otherwise. */
    setenv("MTL_DEBUG_LAYER", "1", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_dispatches);
        RUN(test_concurrent_encoder);
        RUN(test_conditional_argument);
        RUN(test_unused_argument);
        RUN(test_reflection);
        RUN(test_absent_threadgroup_memory);
        RUN(test_misuse);
        [queue release];
    }
    return checks_report();
}
