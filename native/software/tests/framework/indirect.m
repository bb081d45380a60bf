/* Indirect command buffers, and dispatches whose size a buffer gives. */
#include "framework_kernels.h"

static id<MTLComputePipelineState> digit;

/* Threadgroups have at most `most` threads if it is not 0, and exactly `required` if these are not 0. */
static id<MTLComputePipelineState> make_limited_pipeline(NSString *name, NSUInteger most, MTLSize required) {
    id<MTLLibrary> library = make_library();
    MTLComputePipelineDescriptor *descriptor = [[MTLComputePipelineDescriptor alloc] init];
    id<MTLFunction> function = [library newFunctionWithName:name];
    [descriptor setComputeFunction:function];
    [descriptor setSupportIndirectCommandBuffers:YES];
    [descriptor setMaxTotalThreadsPerThreadgroup:most];
    [descriptor setRequiredThreadsPerThreadgroup:required];
    NSError *error = (NSError *)1;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:MTLPipelineOptionNone
                                                                              reflection:NULL
                                                                                   error:&error];
    CHECK(pipeline != nil && error == nil && [pipeline supportIndirectCommandBuffers]);
    [function release];
    [descriptor release];
    [library release];
    return pipeline;
}

static id<MTLComputePipelineState> make_indirect_pipeline(NSString *name) {
    return make_limited_pipeline(name, 0, MTLSizeMake(0, 0, 0));
}

static MTLIndirectCommandBufferDescriptor *describe(void) {
    MTLIndirectCommandBufferDescriptor *descriptor = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
    [descriptor
        setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads];
    [descriptor setMaxKernelBufferBindCount:2];
    CHECK([descriptor maxKernelThreadgroupMemoryBindCount] == 31);
    [descriptor setMaxKernelThreadgroupMemoryBindCount:1];
    return descriptor;
}

static id<MTLIndirectCommandBuffer> make_commands(MTLIndirectCommandBufferDescriptor *descriptor, NSUInteger count) {
    return [device newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:count
                                                  options:MTLResourceStorageModeShared];
}

/* Commands that append the digits 1 to `count` to `number`, ordered by barriers. */
static id<MTLIndirectCommandBuffer> make_digits(NSUInteger count, id<MTLBuffer> number, id<MTLBuffer> digits) {
    id<MTLIndirectCommandBuffer> commands = make_commands(describe(), count);
    for (NSUInteger i = 0; i < count; i++) {
        id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:i];
        [command setComputePipelineState:digit];
        [command setKernelBuffer:number offset:0 atIndex:0];
        [command setKernelBuffer:digits offset:i * sizeof(int) atIndex:1];
        [command setBarrier];
        if (i % 2 == 0)
            [command concurrentDispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
        else
            [command concurrentDispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    }
    return commands;
}

static void test_execution(void) {
    digit = make_indirect_pipeline(@"digit");
    id<MTLBuffer> number = make_ints(1, 0, 0);
    id<MTLBuffer> digits = make_ints(5, 1, 1);
    id<MTLIndirectCommandBuffer> commands = make_digits(5, number, digits);
    CHECK([commands size] == 5 && [commands device] == device && [commands storageMode] == MTLStorageModeShared);
    int *value = [number contents];
    for (int round = 0; round < 2; round++) {
        run(^(id<MTLComputeCommandEncoder> encoder) {
            [encoder useResource:commands usage:MTLResourceUsageRead];
            [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 5)];
        });
        CHECK(*value == 12345);
        *value = 0;
    }
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(1, 3)];
    });
    CHECK(*value == 234);
    /* The range comes from a buffer, which is read when the command executes. */
    id<MTLBuffer> range = [device newBufferWithLength:12 options:0];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder executeCommandsInBuffer:commands indirectBuffer:range indirectBufferOffset:4];
    [encoder endEncoding];
    const MTLIndirectCommandBufferExecutionRange wanted = MTLIndirectCommandBufferExecutionRangeMake(3, 2);
    memcpy((char *)[range contents] + 4, &wanted, sizeof wanted);
    *value = 0;
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(*value == 45);
    ((uint32_t *)[range contents])[2] = 3;
    buffer = run(^(id<MTLComputeCommandEncoder> wrong) {
        [wrong executeCommandsInBuffer:commands indirectBuffer:range indirectBufferOffset:4];
    });
    CHECK([[buffer error] code] == MTLCommandBufferErrorPageFault);
    [range release];
    [commands release];
    [digits release];
    [number release];
    [digit release];
}

static void test_blits(void) {
    digit = make_indirect_pipeline(@"digit");
    id<MTLBuffer> number = make_ints(1, 0, 0);
    id<MTLBuffer> digits = make_ints(5, 1, 1);
    id<MTLIndirectCommandBuffer> commands = make_digits(5, number, digits);
    id<MTLIndirectCommandBuffer> copies = make_commands(describe(), 4);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    [blit copyIndirectCommandBuffer:commands sourceRange:NSMakeRange(2, 3) destination:copies destinationIndex:1];
    [blit resetCommandsInBuffer:commands withRange:NSMakeRange(1, 2)];
    [blit optimizeIndirectCommandBuffer:copies withRange:NSMakeRange(0, 4)];
    CHECK_RAISES("exceed", [blit resetCommandsInBuffer:commands withRange:NSMakeRange(4, 2)]);
    CHECK_RAISES("overlap", [blit copyIndirectCommandBuffer:copies sourceRange:NSMakeRange(0, 2) destination:copies
                                           destinationIndex:1]);
    [blit endEncoding];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder executeCommandsInBuffer:copies withRange:NSMakeRange(0, 4)];
    [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 5)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(*(int *)[number contents] == 345145);
    [[commands indirectComputeCommandAtIndex:0] reset];
    [commands resetWithRange:NSMakeRange(3, 2)];
    *(int *)[number contents] = 0;
    run(^(id<MTLComputeCommandEncoder> again) {
        [again executeCommandsInBuffer:commands withRange:NSMakeRange(0, 5)];
    });
    CHECK(*(int *)[number contents] == 0);
    [copies release];
    [commands release];
    [digits release];
    [number release];
    [digit release];
}

/* Pipeline and buffers come from the encoder; threadgroup memory works. */
static void test_inheritance(void) {
    id<MTLComputePipelineState> total = make_indirect_pipeline(@"total");
    MTLIndirectCommandBufferDescriptor *descriptor = describe();
    [descriptor setInheritPipelineState:YES];
    [descriptor setInheritBuffers:YES];
    id<MTLIndirectCommandBuffer> commands = make_commands(descriptor, 1);
    id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:0];
    CHECK_RAISES("inherits the pipeline", [command setComputePipelineState:total]);
    id<MTLBuffer> in = make_ints(64, 1, 1);
    CHECK_RAISES("inherits the buffers", [command setKernelBuffer:in offset:0 atIndex:0]);
    [command concurrentDispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    id<MTLBuffer> out = make_ints(1, 0, 0);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        CHECK_RAISES("the commands inherit the encoder's compute pipeline state",
                     [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)]);
        [encoder setComputePipelineState:total];
        [encoder setBuffer:in offset:0 atIndex:0];
        [encoder setBuffer:out offset:0 atIndex:2];
        [encoder setThreadgroupMemoryLength:256 atIndex:0];
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)];
    });
    CHECK(*(int *)[out contents] == 64 * 65 / 2);
    /* Threadgroup memory is not a buffer: a command may bring its own. */
    *(int *)[out contents] = 0;
    [command setThreadgroupMemoryLength:256 atIndex:0];
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:total];
        [encoder setBuffer:in offset:0 atIndex:0];
        [encoder setBuffer:out offset:0 atIndex:2];
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)];
    });
    CHECK(*(int *)[out contents] == 64 * 65 / 2);
    /* Nothing bound: the command buffer fails, and the queue lives. */
    id<MTLCommandBuffer> failed = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:total];
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)];
    });
    CHECK([[failed error] code] == MTLCommandBufferErrorInvalidResource);
    [out release];
    [in release];
    [commands release];
    [total release];
}

/* What a pipeline takes holds for its commands, and for those that inherit it. */
static void test_limits(void) {
    id<MTLBuffer> values = make_ints(8, 0, 0), amount = make_ints(1, 3, 0);
    for (int i = 0; i < 8; i++) {
        const bool inherits = i % 2, exactly = i / 2 % 2, suits = i / 4;
        id<MTLComputePipelineState> add =
            make_limited_pipeline(@"add", exactly ? 0 : 4, exactly ? MTLSizeMake(4, 1, 1) : MTLSizeMake(0, 0, 0));
        MTLIndirectCommandBufferDescriptor *descriptor = describe();
        [descriptor setInheritPipelineState:inherits];
        id<MTLIndirectCommandBuffer> commands = make_commands(descriptor, 1);
        id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:0];
        if (!inherits) [command setComputePipelineState:add];
        [command setKernelBuffer:values offset:0 atIndex:0];
        [command setKernelBuffer:amount offset:0 atIndex:1];
        [command concurrentDispatchThreads:MTLSizeMake(8, 1, 1) threadsPerThreadgroup:MTLSizeMake(suits ? 4 : 8, 1, 1)];
        memset([values contents], 0, [values length]);
        NSError *error = [run(^(id<MTLComputeCommandEncoder> encoder) {
            [encoder setComputePipelineState:add];
            [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)];
        }) error];
        CHECK(suits ? error == nil && are_ints(values, 3, 0)
                    : [error code] == MTLCommandBufferErrorInvalidResource && are_ints(values, 0, 0));
        [commands release];
        [add release];
    }
    [amount release];
    [values release];
}

static void test_misuse(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> plain = make_pipeline(library, @"digit");
    id<MTLIndirectCommandBuffer> commands = make_commands(describe(), 2);
    id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:1];
    id<MTLBuffer> values = make_ints(1, 0, 0);
    CHECK_RAISES("not made with supportIndirectCommandBuffers", [command setComputePipelineState:plain]);
    CHECK_RAISES("maxKernelBufferBindCount", [command setKernelBuffer:values offset:0 atIndex:2]);
    CHECK_RAISES("must be < [buffer length]", [command setKernelBuffer:values offset:4 atIndex:0]);
    CHECK_RAISES("multiple of 16", [command setThreadgroupMemoryLength:10 atIndex:0]);
    CHECK_RAISES("maxKernelThreadgroupMemoryBindCount", [command setThreadgroupMemoryLength:16 atIndex:1]);
    CHECK_RAISES("exceed", [commands indirectComputeCommandAtIndex:2]);
    CHECK_RAISES("exceed", [commands resetWithRange:NSMakeRange(1, 2)]);
    MTLIndirectCommandBufferDescriptor *drawing = describe();
    [drawing setCommandTypes:MTLIndirectCommandTypeDraw];
    CHECK_RAISES("not those of a compute encoder", make_commands(drawing, 1));
    CHECK_RAISES("must not be 0", make_commands(describe(), 0));
    smtl_inject_allocation_failure(1);
    CHECK(make_commands(describe(), 1) == nil);
    [values release];
    [commands release];
    [plain release];
    [library release];
}

/* What a command lacks shows when it executes. Commands before it and after it do what they should. */
static void test_impossible(void) {
    id<MTLComputePipelineState> add = make_indirect_pipeline(@"add");
    id<MTLBuffer> values = make_ints(8, 0, 0), amount = make_ints(1, 3, 0);
    const MTLSize eight = MTLSizeMake(8, 1, 1);
    const MTLSize groups[] = {MTLSizeMake(8, 1, 1), MTLSizeMake(1025, 1, 1), MTLSizeMake(64, 64, 1),
                              MTLSizeMake((1ul << 32) + 1, 1, 1)};
    NSString *const says[] = {@"no compute pipeline state", @"more threads", @"more threads", @"more threads"};
    for (int i = 0; i < 4; i++) {
        id<MTLIndirectCommandBuffer> commands = make_commands(describe(), 2);
        for (NSUInteger j = 0; j < 2; j++) {
            id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:j];
            if (i > 0 || j == 0) [command setComputePipelineState:add];
            [command setBarrier];
            [command setKernelBuffer:values offset:0 atIndex:0];
            [command setKernelBuffer:amount offset:0 atIndex:1];
            [command concurrentDispatchThreads:eight threadsPerThreadgroup:j == 0 ? eight : groups[i]];
        }
        memset([values contents], 0, [values length]);
        NSError *error = [run(^(id<MTLComputeCommandEncoder> encoder) {
            [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 2)];
        }) error];
        CHECK([error code] == MTLCommandBufferErrorInvalidResource && are_ints(values, 3, 0));
        CHECK([[error localizedDescription] rangeOfString:says[i]].location != NSNotFound);
        run(^(id<MTLComputeCommandEncoder> encoder) {
            [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)];
        });
        CHECK(are_ints(values, 6, 0));
        [commands release];
    }
    [amount release];
    [values release];
    [add release];
}

/* Commands without threads do nothing, whatever they lack. */
static void test_no_threads(void) {
    id<MTLComputePipelineState> add = make_indirect_pipeline(@"add");
    id<MTLBuffer> values = make_ints(8, 0, 0), amount = make_ints(1, 3, 0);
    const MTLSize eight = MTLSizeMake(8, 1, 1), none = MTLSizeMake(1, 0, 1);
    id<MTLIndirectCommandBuffer> commands = make_commands(describe(), 4);
    for (NSUInteger i = 0; i < 4; i++) {
        id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:i];
        if (i != 0) {
            [command setComputePipelineState:add];
            [command setKernelBuffer:values offset:0 atIndex:0];
            [command setKernelBuffer:amount offset:0 atIndex:1];
        }
        [command concurrentDispatchThreads:i < 2 ? none : eight threadsPerThreadgroup:i == 2 ? none : eight];
    }
    NSError *error = [run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 4)];
    }) error];
    CHECK(error == nil && are_ints(values, 3, 0));
    [commands release];
    [amount release];
    [values release];
    [add release];
}

/* A kernel's grid from a buffer. */
static void test_indirect_dispatch(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> add = make_pipeline(library, @"add");
    id<MTLBuffer> values = make_ints(64, 0, 0);
    const MTLDispatchThreadgroupsIndirectArguments groups = {{3, 1, 1}};
    id<MTLBuffer> size = [device newBufferWithBytes:&groups length:sizeof groups options:0];
    run(^(id<MTLComputeCommandEncoder> encoder) {
        const int amount = 5;
        [encoder setComputePipelineState:add];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder setBytes:&amount length:sizeof amount atIndex:1];
        CHECK_RAISES("exceed", [encoder dispatchThreadgroupsWithIndirectBuffer:size indirectBufferOffset:4
                                                         threadsPerThreadgroup:MTLSizeMake(16, 1, 1)]);
        [encoder dispatchThreadgroupsWithIndirectBuffer:size indirectBufferOffset:0
                                  threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
    });
    const int *result = [values contents];
    CHECK(result[0] == 5 && result[47] == 5 && result[48] == 0);
    [size release];
    [values release];
    [add release];
    [library release];
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_execution);
        RUN(test_blits);
        RUN(test_inheritance);
        RUN(test_limits);
        RUN(test_misuse);
        RUN(test_impossible);
        RUN(test_no_threads);
        RUN(test_indirect_dispatch);
        [queue release];
    }
    return checks_report();
}
