/* A library of kernels, and what tests need to run them. The test program sets `device` and `queue`. */
#ifndef SMTL_TESTS_FRAMEWORK_KERNELS_H
#define SMTL_TESTS_FRAMEWORK_KERNELS_H

#include "framework_test.h"
#include <stdlib.h>

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;

static NSString *const source =
    @"#include <metal_stdlib>\n"
     "using namespace metal;\n"
     "constant int stride [[function_constant(0)]];\n"
     "constant bool twice [[function_constant(1)]];\n"
     "kernel void add(device int *values [[buffer(0)]], constant int &amount [[buffer(1)]],\n"
     "                uint i [[thread_position_in_grid]]) { values[i] += amount; }\n"
     "kernel void stepped(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] += twice ? 2 * stride : stride; }\n"
     "kernel void gated(device int *values [[buffer(0)]],\n"
     "                  device const int *extra [[buffer(1), function_constant(twice)]],\n"
     "                  uint i [[thread_position_in_grid]]) { values[i] += twice ? extra[i] : 1; }\n"
     "kernel void ignoring(device int *values [[buffer(0)]], device const int *ignored [[buffer(1)]],\n"
     "                     threadgroup int *idle [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    int without_effect = ignored[i] + idle[i];\n"
     "    values[i] = without_effect - without_effect + 5; }\n"
     "kernel void total(device const int *in [[buffer(0)]], device int *out [[buffer(2)]],\n"
     "                  threadgroup int *scratch [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]],\n"
     "                  uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]]) {\n"
     "    scratch[i] = in[g * n + i];\n"
     "    for (uint s = n / 2; s > 0; s /= 2) {\n"
     "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
     "        if (i < s) scratch[i] += scratch[i + s];\n"
     "    }\n"
     "    if (i == 0) out[g] = scratch[0];\n"
     "}\n"
     "kernel void digit(device int *values [[buffer(0)]], constant int &amount [[buffer(1)]]) {\n"
     "    values[0] = values[0] * 10 + amount; }\n"
     "kernel void scaled(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] = SCALE(i); }\n";

static inline id<MTLLibrary> make_library(void) {
    MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
    [options setPreprocessorMacros:[NSDictionary dictionaryWithObjectsAndKeys:@"(x) * 3", @"SCALE(x)", nil]];
    [options setLanguageVersion:MTLLanguageVersion3_1];
    [options setMathMode:MTLMathModeSafe];
    NSError *error = (NSError *)1;
    id<MTLLibrary> library = [device newLibraryWithSource:source options:options error:&error];
    CHECK(library != nil && error == nil);
    if (library == nil) {
        fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
        exit(checks_report());
    }
    return library;
}

static inline id<MTLComputePipelineState> make_pipeline(id<MTLLibrary> library, NSString *name) {
    NSError *error = (NSError *)1;
    id<MTLFunction> function = [library newFunctionWithName:name];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    CHECK(pipeline != nil && error == nil);
    if (pipeline == nil) {
        fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
        exit(checks_report());
    }
    [function release];
    return pipeline;
}

static inline id<MTLBuffer> make_ints(NSUInteger count, int first, int difference) {
    id<MTLBuffer> buffer = [device newBufferWithLength:count * sizeof(int) options:MTLResourceStorageModeShared];
    int *values = [buffer contents];
    for (NSUInteger i = 0; i < count; i++) values[i] = first + difference * (int)i;
    return buffer;
}

static inline BOOL are_ints(id<MTLBuffer> buffer, int first, int difference) {
    const int *values = [buffer contents];
    for (NSUInteger i = 0; i < [buffer length] / sizeof(int); i++)
        if (values[i] != first + difference * (int)i) return NO;
    return YES;
}

/* Encodes with `encode` on a new command buffer and waits. */
static inline id<MTLCommandBuffer> run(void (^encode)(id<MTLComputeCommandEncoder> encoder)) {
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    encode(encoder);
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    return buffer;
}

#endif
