/* Kernels that encode commands of indirect command buffers. */
#include "framework_kernels.h"

#define COUNT 64

static NSString *const encoding_source =
    @"#include <metal_stdlib>\n"
     "#include <metal_command_buffer>\n"
     "using namespace metal;\n"
     "struct Arguments {\n"
     "    command_buffer commands [[id(0)]];\n"
     "    array<compute_pipeline_state, 2> pipelines [[id(1)]];\n"
     "    device int *values [[id(3)]];\n"
     "};\n"
     "kernel void add(device int *values [[buffer(0)]], constant int &amount [[buffer(1)]],\n"
     "                uint i [[thread_position_in_grid]]) { values[i] += amount; }\n"
     "kernel void digit(device int *values [[buffer(0)]], constant int &amount [[buffer(1)]]) {\n"
     "    values[0] = values[0] * 10 + amount; }\n"
     "kernel void total(device int *values [[buffer(0)]], threadgroup int *scratch [[threadgroup(0)]],\n"
     "                  uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {\n"
     "    scratch[i] = values[i];\n"
     "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
     "    if (i == 0) for (uint k = 1; k < n; k++) values[0] += scratch[k];\n"
     "}\n"
     /* Command i adds amounts[i] to four values. */
     "kernel void encode(constant Arguments &a [[buffer(0)]], constant int *amounts [[buffer(1)]],\n"
     "                   uint i [[thread_position_in_grid]]) {\n"
     "    compute_command command(a.commands, i);\n"
     "    command.reset();\n"
     "    command.set_compute_pipeline_state(a.pipelines[0]);\n"
     "    command.set_kernel_buffer(a.values + 4 * i, 0);\n"
     "    command.set_kernel_buffer(amounts + i, 1);\n"
     "    if (i % 2) command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(4, 1, 1));\n"
     "    else command.concurrent_dispatch_threadgroups(uint3(2, 1, 1), uint3(2, 1, 1));\n"
     "}\n"
     /* The digits 1, 2 and 3 in that order; then the sum of eight values. */
     "kernel void compose(device Arguments &a, device int *amounts [[buffer(1)]]) {\n"
     "    for (uint i = 0; i < 3; i++) {\n"
     "        compute_command command = compute_command(a.commands, i);\n"
     "        command.set_barrier();\n"
     "        command.set_compute_pipeline_state(a.pipelines[0]);\n"
     "        command.set_kernel_buffer(a.values, 0);\n"
     "        command.set_kernel_buffer(amounts + i, 1);\n"
     "        command.concurrent_dispatch_threads(uint3(1), uint3(1));\n"
     "    }\n"
     "    compute_command(a.commands, 4).copy_command(compute_command(a.commands, 0));\n"
     "    compute_command(a.commands, 1).reset();\n"
     "    compute_command sum(a.commands, a.commands.size() - 1);\n"
     "    sum.set_barrier();\n"
     "    sum.clear_barrier();\n"
     "    sum.set_barrier();\n"
     "    sum.set_compute_pipeline_state(a.pipelines[1]);\n"
     "    sum.set_kernel_buffer(a.values, 0);\n"
     "    sum.set_threadgroup_memory_length(32, 0);\n"
     "    sum.concurrent_dispatch_threads(uint3(8, 1, 1), uint3(8, 1, 1));\n"
     "}\n"
     "kernel void mistake(device Arguments &a, constant int &kind [[buffer(1)]], device Arguments &b [[buffer(2)]]) {\n"
     "    compute_command command(a.commands, kind == 0 ? 2 : 1), source(b.commands, 0);\n"
     "    if (kind == 3) command.set_compute_pipeline_state(b.pipelines[0]);\n"
     "    else command.set_compute_pipeline_state(a.pipelines[0]);\n"
     "    device int *const nothing = nullptr;\n"
     "    switch (kind) {\n"
     "    case 4: command.set_kernel_buffer(a.values, 2); break;\n"
     "    case 5: command.set_kernel_buffer(&kind, 0); break;\n"
     "    case 6: command.set_threadgroup_memory_length(8, 0); break;\n"
     "    case 7: command.set_threadgroup_memory_length(16, 1); break;\n"
     "    case 8: command.concurrent_dispatch_threadgroups(uint3(0xffffffffu, 1, 1), uint3(2, 1, 1)); break;\n"
     "    case 9: source.copy_command(command); break;\n"
     "    case 10: command.copy_command(compute_command(a.commands, 9)); break;\n"
     "    case 11: source.concurrent_dispatch_threads(uint3(1), uint3(1)); break;\n"
     "    case 12: source.set_kernel_buffer(a.values, 0); break;\n"
     "    case 13: source.set_compute_pipeline_state(a.pipelines[0]); break;\n"
     "    case 14: command.set_kernel_buffer(a.values, 0); command.set_kernel_buffer(nothing, 0); break;\n"
     "    }\n"
     "    if (kind >= 15) for (int i = 15; i <= kind; i++) command.concurrent_dispatch_threads(uint3(1), uint3(1));\n"
     "}\n";

static id<MTLLibrary> library;

static id<MTLComputePipelineState> make_indirect_pipeline(NSString *name) {
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    id<MTLFunction> function = [[library newFunctionWithName:name] autorelease];
    [descriptor setComputeFunction:function];
    [descriptor setSupportIndirectCommandBuffers:YES];
    return [device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone reflection:NULL
                                                   error:NULL];
}

static MTLIndirectCommandBufferDescriptor *describe(void) {
    MTLIndirectCommandBufferDescriptor *descriptor = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
    [descriptor
        setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads];
    [descriptor setMaxKernelBufferBindCount:2];
    [descriptor setMaxKernelThreadgroupMemoryBindCount:1];
    return descriptor;
}

static id<MTLIndirectCommandBuffer> make_commands(MTLIndirectCommandBufferDescriptor *descriptor, NSUInteger count) {
    return [device newIndirectCommandBufferWithDescriptor:descriptor maxCommandCount:count
                                                  options:MTLResourceStorageModePrivate];
}

/* `Arguments` by an argument encoder. */
static id<MTLBuffer> make_arguments(id<MTLIndirectCommandBuffer> commands, id<MTLComputePipelineState> first,
                                    id<MTLComputePipelineState> second, id<MTLBuffer> values) {
    id<MTLFunction> function = [library newFunctionWithName:@"encode"];
    id<MTLArgumentEncoder> encoder = [function newArgumentEncoderWithBufferIndex:0];
    id<MTLBuffer> arguments = [device newBufferWithLength:[encoder encodedLength] options:MTLResourceStorageModeShared];
    const id<MTLComputePipelineState> pipelines[] = {first, second};
    [encoder setArgumentBuffer:arguments offset:0];
    [encoder setIndirectCommandBuffer:commands atIndex:0];
    [encoder setComputePipelineStates:pipelines withRange:NSMakeRange(1, 2)];
    [encoder setBuffer:values offset:0 atIndex:3];
    CHECK_RAISES("of another type", [encoder setComputePipelineState:first atIndex:0]);
    [encoder release];
    [function release];
    return arguments;
}

static BOOL says(id<MTLCommandBuffer> buffer, NSString *text) {
    NSString *message = [[buffer error] localizedDescription];
    const BOOL found = message != nil && [message rangeOfString:text].location != NSNotFound;
    if (!found) fprintf(stderr, "the error is: %s, not: %s\n", [message UTF8String], [text UTF8String]);
    return found && [[buffer error] code] == MTLCommandBufferErrorInvalidResource;
}

/* Each thread encodes a command; they are executed in the same command buffer. */
static void test_encoding(void) {
    id<MTLComputePipelineState> add = make_indirect_pipeline(@"add"), encode = make_pipeline(library, @"encode");
    id<MTLBuffer> values = make_ints(4 * COUNT, 0, 0), amounts = make_ints(COUNT, 1, 1);
    id<MTLIndirectCommandBuffer> commands = make_commands(describe(), COUNT);
    id<MTLBuffer> arguments = make_arguments(commands, add, nil, values);
    CHECK([arguments length] == 32 && [commands gpuResourceID]._impl == *(uint64_t *)[arguments contents]);
    CHECK([add gpuResourceID]._impl == ((uint64_t *)[arguments contents])[1]);
    for (int round = 0; round < 3; round++) {
        id<MTLCommandBuffer> buffer = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [buffer
            computeCommandEncoderWithDispatchType:round == 0 ? MTLDispatchTypeSerial : MTLDispatchTypeConcurrent];
        [encoder setComputePipelineState:encode];
        [encoder setBuffer:arguments offset:0 atIndex:0];
        [encoder setBuffer:amounts offset:0 atIndex:1];
        [encoder useResource:commands usage:MTLResourceUsageWrite];
        [encoder dispatchThreads:MTLSizeMake(COUNT, 1, 1) threadsPerThreadgroup:MTLSizeMake(8, 1, 1)];
        if (round == 1) {
            [encoder endEncoding];
            encoder = [buffer computeCommandEncoder];
        } else if (round == 2) {
            [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
        }
        [encoder useResource:values usage:MTLResourceUsageRead | MTLResourceUsageWrite];
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, COUNT)];
        [encoder endEncoding];
        [buffer commit];
        [buffer waitUntilCompleted];
        CHECK([buffer error] == nil);
    }
    const int *sums = [values contents];
    for (int i = 0; i < 4 * COUNT; i++) CHECK(sums[i] == 3 * (1 + i / 4));
    [arguments release];
    [commands release];
    [amounts release];
    [values release];
    [encode release];
    [add release];
}

/* Barriers, copies, resets, threadgroup memory and the number of commands. */
static void test_composition(void) {
    id<MTLComputePipelineState> digit = make_indirect_pipeline(@"digit"), total = make_indirect_pipeline(@"total");
    id<MTLComputePipelineState> compose = make_pipeline(library, @"compose");
    id<MTLBuffer> values = make_ints(8, 0, 10), amounts = make_ints(3, 1, 1);
    id<MTLIndirectCommandBuffer> commands = make_commands(describe(), 6);
    id<MTLBuffer> arguments = make_arguments(commands, digit, total, values);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:compose];
        [encoder setBuffer:arguments offset:0 atIndex:0];
        [encoder setBuffer:amounts offset:0 atIndex:1];
        [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    });
    NSError *error = [run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 6)];
    }) error];
    CHECK(error == nil && *(int *)[values contents] == 131 + 10 * (1 + 2 + 3 + 4 + 5 + 6 + 7));
    /* The CPU replaces what a kernel has encoded, and a blit copies it. */
    [commands resetWithRange:NSMakeRange(0, 3)];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    [blit copyIndirectCommandBuffer:commands sourceRange:NSMakeRange(4, 1) destination:commands destinationIndex:0];
    [blit resetCommandsInBuffer:commands withRange:NSMakeRange(4, 2)];
    [blit endEncoding];
    [buffer commit];
    *(int *)[values contents] = 0;
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 6)];
    });
    CHECK(*(int *)[values contents] == 1);
    /* Nothing keeps a pipeline alive that only a kernel has named. */
    [digit release];
    CHECK(says(run(^(id<MTLComputeCommandEncoder> encoder) {
                   [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 6)];
               }), @"command 0 of an indirect command buffer: its pipeline has been released"));
    [arguments release];
    [commands release];
    [amounts release];
    [values release];
    [compose release];
    [total release];
}

/* What Metal leaves undefined ends the command buffer with an error that names kernel and command. */
static void test_mistakes(void) {
    id<MTLComputePipelineState> digit = make_indirect_pipeline(@"digit"), direct = make_pipeline(library, @"digit");
    id<MTLComputePipelineState> mistake = make_pipeline(library, @"mistake");
    id<MTLBuffer> values = make_ints(8, 0, 0);
    id<MTLIndirectCommandBuffer> commands = make_commands(describe(), 2);
    MTLIndirectCommandBufferDescriptor *inheriting = describe();
    [inheriting setInheritBuffers:YES];
    [inheriting setInheritPipelineState:YES];
    [inheriting setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
    id<MTLIndirectCommandBuffer> others = make_commands(inheriting, 1);
    id<MTLBuffer> arguments = make_arguments(commands, digit, nil, values);
    id<MTLBuffer> second = make_arguments(others, direct, nil, values);
    uint64_t *handles = [arguments contents];
    const uint64_t handle = handles[0];
    id<MTLCommandBuffer> (^encode)(int) = ^(int kind) {
        return run(^(id<MTLComputeCommandEncoder> encoder) {
            [encoder setComputePipelineState:mistake];
            [encoder setBuffer:arguments offset:0 atIndex:0];
            [encoder setBytes:&kind length:sizeof kind atIndex:1];
            [encoder setBuffer:second offset:0 atIndex:2];
            [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
        });
    };
    NSString *const texts[] = {
        @"kernel 'mistake': command 2: set_compute_pipeline_state: the index is not below the indirect command "
         "buffer's 2 commands, in threadgroup (0, 0, 0)",
        nil,
        nil,
        @"command 1: set_compute_pipeline_state: the pipeline was not made with supportIndirectCommandBuffers",
        @"command 1: set_kernel_buffer: index 2 is not below maxKernelBufferBindCount 2",
        @"command 1: set_kernel_buffer: the address is that of bytes of the encoder (setBytes)",
        @"command 1: set_threadgroup_memory_length: length 8 must be a multiple of 16 bytes, and at most 32768",
        @"set_threadgroup_memory_length: index 1 is not below maxKernelThreadgroupMemoryBindCount 1",
        @"command 1: concurrent_dispatch_threadgroups: the grid has more than 4294967295 threads in a dimension",
        @"command 0: copy_command: the source's indirect command buffer was made with another descriptor",
        @"command 1: copy_command: the source's index 9 is not below 2",
        @"concurrent_dispatch_threads: the indirect command buffer is not for this type of command",
        @"set_kernel_buffer: the indirect command buffer inherits the buffers",
        @"set_compute_pipeline_state: the indirect command buffer inherits the pipeline",
    };
    for (int kind = 0; kind < (int)(sizeof texts / sizeof texts[0]); kind++)
        if (texts[kind] != nil) CHECK(says(encode(kind), texts[kind]));
    CHECK(says(encode(16), @"command 1: concurrent_dispatch_threads: the command has its dispatch: it must be reset"));
    CHECK(says(run(^(id<MTLComputeCommandEncoder> encoder) {
                   [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 2)];
               }), @"kernel 'digit': nothing is bound to buffer argument 0"));
    const uint64_t strangers[] = {0, 17, handles[1], (uintptr_t)[values contents], handle + (UINT64_C(1) << 24)};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        handles[0] = strangers[i];
        CHECK(says(encode(1), i == 0 ? @"the command_buffer is null" : @"is not an indirect command buffer"));
    }
    handles[0] = handle;
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        if (i == 2) continue;
        handles[1] = strangers[i];
        CHECK(says(encode(1), i == 0 ? @"the pipeline is null" : @"is not a pipeline"));
    }
    [second release];
    [arguments release];
    [others release];
    handles = NULL;
    [commands release];
    [values release];
    [mistake release];
    [direct release];
    [digit release];
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        NSError *error = nil;
        library = [device newLibraryWithSource:encoding_source options:nil error:&error];
        if (library == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
        CHECK(library != nil);
        RUN(test_encoding);
        RUN(test_composition);
        RUN(test_mistakes);
        [library release];
        [queue release];
        [device release];
    }
    return checks_report();
}
