/* A library whose kernels call functions, one whose functions they call, and launches of them. */
#ifndef SMTL_TESTS_FUNCTION_TABLES_H
#define SMTL_TESTS_FUNCTION_TABLES_H

#include "framework_kernels.h"

#define COUNT 70

static id<MTLLibrary> library, others;

static NSString *const table_source =
    @"#include <metal_stdlib>\n"
     "#include <metal_visible_function_table>\n"
     "using namespace metal;\n"
     "constant int pace [[function_constant(0)]];\n"
     "[[visible]] int doubled(int x) { return 2 * x; }\n"
     "[[visible]] int negative(int x) { return -x; }\n"
     "[[visible]] int stepped(int x) { return x + pace; }\n"
     "[[visible]] float half_of(float x) { return x / 2; }\n"
     "[[stitchable]] int same(int x) { return x; }\n"
     "int hidden(int x) { return x; }\n"
     "kernel void call(device int *values [[buffer(0)]], visible_function_table<int(int)> table [[buffer(1)]],\n"
     "                 constant int &first [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] = table[first + int(i % 2)](int(i)); }\n"
     "kernel void chosen(device int *values [[buffer(0)]], visible_function_table<int(int)> table [[buffer(1)]],\n"
     "                   constant int &which [[buffer(2)]], uint i [[thread_position_in_threadgroup]]) {\n"
     "    if (values[i] >= 0) values[i] = table[which](values[i]); }\n"
     "kernel void turns(device atomic_int *counter [[buffer(0)]], constant int &which [[buffer(2)]],\n"
     "    visible_function_table<int(device atomic_int *, int)> table [[buffer(1)]],\n"
     "    uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {\n"
     "    table[which](counter, int(n - 1 - i)); }\n"
     "kernel void facts(device int *values [[buffer(0)]], visible_function_table<int(int)> table [[buffer(1)]]) {\n"
     "    values[0] = is_null_visible_function_table(table); values[1] = table.size(); values[2] = table.empty(); }\n"
     "using Turn = int (*)(device atomic_int *, int);\n"
     "int first_turn(Turn f, device atomic_int *counter) { return f(counter, 1); }\n"
     "[[visible]] int cube(int x);\n"
     "namespace elsewhere { int cube(int x) { return -x; } }\n"
     "[[visible]] float lanes(int x);\n"
     "kernel void named(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] = cube(int(i)); }\n"
     "kernel void misnamed(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] = int(lanes(int(i))); }\n"
     "[[visible]] int cube(int x);\n"
     "float overloaded(float x) { return -x; }\n"
     "[[visible]] int overloaded(int x) { return x + 1; }\n"
     "struct Pair { int first, second; };\n"
     "kernel void pairs(device int *values [[buffer(0)]], visible_function_table<int(Pair)> table [[buffer(1)]],\n"
     "                  uint i [[thread_position_in_grid]]) { values[i] = table[0](Pair{1, int(i)}); }\n"
     "kernel void memory(device int *values [[buffer(0)]], device int *more [[buffer(1)]],\n"
     "                   uint i [[thread_position_in_grid]]) { values[i] = more[i]; more[i] = 1; }\n"
     "struct Arguments { visible_function_table<int(int)> table [[id(0)]]; device int *values [[id(1)]]; };\n"
     "kernel void nested(constant Arguments &a [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    a.values[i] = a.table[0](a.values[i]); }\n";

static NSString *const other_source =
    @"#include <metal_stdlib>\n"
     "using namespace metal;\n"
     "[[visible]] int turn(device atomic_int *counter, int mine) {\n"
     "    while (atomic_load_explicit(counter, memory_order_relaxed) != mine) { }\n"
     "    return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }\n"
     "[[visible]] int cube(int x) { return x * x * x; }\n"
     "struct Pair { long first; int second; };\n"
     "[[visible]] int second(Pair p) { return p.second; }\n"
     "[[visible]] int lanes(int x) { return simd_sum(x); }\n"
     "[[visible]] int meeting(int x) { threadgroup_barrier(mem_flags::mem_threadgroup); return simd_max(x); }\n";

static inline id<MTLFunction> function_of(id<MTLLibrary> from, NSString *name) {
    return [[from newFunctionWithName:name] autorelease];
}

static inline id<MTLComputePipelineState> pipeline_with(MTLLinkedFunctions *linked, NSString *kernel, NSError **error) {
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function_of(library, kernel)];
    [descriptor setLinkedFunctions:linked];
    return [[device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone reflection:NULL
                                                    error:error] autorelease];
}

static inline id<MTLComputePipelineState> linked_pipeline(NSString *kernel, NSArray *functions, NSError **error) {
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [linked setFunctions:functions];
    return pipeline_with(linked, kernel, error);
}

static inline id<MTLComputePipelineState> privately_linked(NSString *kernel, NSArray *functions, NSError **error) {
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [linked setPrivateFunctions:functions];
    return pipeline_with(linked, kernel, error);
}

static inline id<MTLVisibleFunctionTable> table_of(id<MTLComputePipelineState> pipeline, NSUInteger count,
                                                   NSArray *functions) {
    MTLVisibleFunctionTableDescriptor *descriptor = [MTLVisibleFunctionTableDescriptor visibleFunctionTableDescriptor];
    [descriptor setFunctionCount:count];
    id<MTLVisibleFunctionTable> table = [[pipeline newVisibleFunctionTableWithDescriptor:descriptor] autorelease];
    for (NSUInteger i = 0; i < [functions count]; i++) {
        id<MTLFunctionHandle> handle = [pipeline functionHandleWithFunction:[functions objectAtIndex:i]];
        CHECK(handle != nil && [handle functionType] == MTLFunctionTypeVisible);
        [table setFunction:handle atIndex:i];
    }
    return table;
}

/* Runs one threadgroup; the error's text, or nil. */
static inline NSString *launch_with(id<MTLComputePipelineState> pipeline, id<MTLBuffer> values,
                                    void (^bind)(id<MTLComputeCommandEncoder> encoder)) {
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:values offset:0 atIndex:0];
    bind(encoder);
    [encoder dispatchThreads:MTLSizeMake(COUNT, 1, 1) threadsPerThreadgroup:MTLSizeMake(COUNT, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    return [[buffer error] localizedDescription];
}

static inline NSString *launch(id<MTLComputePipelineState> pipeline, id<MTLBuffer> values,
                               id<MTLVisibleFunctionTable> table, int number) {
    return launch_with(pipeline, values, ^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setVisibleFunctionTable:table atBufferIndex:1];
        [encoder setBytes:&number length:sizeof number atIndex:2];
    });
}

static inline BOOL contains(NSString *text, NSString *words) {
    if (text != nil && [text rangeOfString:words].location != NSNotFound) return YES;
    fprintf(stderr, "the error is: %s\n", text == nil ? "(none)" : [text UTF8String]);
    return NO;
}

static inline id<MTLLibrary> compile_source(NSString *text) {
    NSError *error = nil;
    id<MTLLibrary> made = [device newLibraryWithSource:text options:nil error:&error];
    if (made == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(made != nil);
    return made;
}

static inline void begin_function_tables(void) {
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
    library = compile_source(table_source);
    others = compile_source(other_source);
}

static inline void end_function_tables(void) {
    [others release];
    [library release];
    [queue release];
    [device release];
}

#endif
