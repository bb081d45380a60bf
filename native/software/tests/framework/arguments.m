/* Argument buffers: written by encoders or by hand, read by kernels as structures of pointers. */
#include "framework_kernels.h"

static NSString *const arguments_source =
    @"#include <metal_stdlib>\n"
     "using namespace metal;\n"
     "struct Inner { device int *values [[id(0)]]; int amount [[id(1)]]; };\n"
     "struct Outer { device int *first [[id(0)]]; constant Inner *inner [[id(1)]]; float scale [[id(2)]];\n"
     "               device int *many[3] [[id(3)]]; };\n"
     "kernel void scatter(constant Outer &outer [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    outer.first[i] = int(i * outer.scale);\n"
     "    outer.inner->values[i] = outer.inner->amount;\n"
     "    for (int k = 0; k < 3; k++) outer.many[k][i] = k + int(i);\n"
     "}\n";

/* The structure as the host lays it out by hand: tier 2. */
typedef struct {
    uint64_t values;
    int amount;
} inner_arguments;

typedef struct {
    uint64_t first;
    uint64_t inner;
    float scale;
    uint64_t many[3];
} outer_arguments;

static id<MTLComputePipelineState> scatter_pipeline(void) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:arguments_source options:nil error:&error];
    CHECK(library != nil);
    id<MTLComputePipelineState> pipeline = make_pipeline(library, @"scatter");
    [library release];
    return pipeline;
}

static void check_scatter(id<MTLComputePipelineState> pipeline, id<MTLBuffer> outer, id<MTLBuffer> *targets) {
    id<MTLCommandBuffer> done = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:outer offset:0 atIndex:0];
        const id<MTLResource> used[] = {targets[0], targets[1], targets[2], targets[3], targets[4]};
        [encoder useResources:used count:5 usage:MTLResourceUsageRead | MTLResourceUsageWrite];
        [encoder dispatchThreads:MTLSizeMake(8, 1, 1) threadsPerThreadgroup:MTLSizeMake(8, 1, 1)];
    });
    CHECK([done status] == MTLCommandBufferStatusCompleted);
    CHECK(are_ints(targets[0], 0, 2) && are_ints(targets[1], 7, 0));
    CHECK(are_ints(targets[2], 0, 1) && are_ints(targets[3], 1, 1) && are_ints(targets[4], 2, 1));
}

static void test_by_hand(void) {
    id<MTLComputePipelineState> pipeline = scatter_pipeline();
    id<MTLBuffer> targets[5];
    for (int i = 0; i < 5; i++) targets[i] = make_ints(8, -1, 0);
    const inner_arguments inner = {[targets[1] gpuAddress], 7};
    id<MTLBuffer> inner_buffer = [device newBufferWithBytes:&inner length:sizeof inner options:0];
    const outer_arguments outer = {
        [targets[0] gpuAddress],
        [inner_buffer gpuAddress],
        2.0f,
        { [targets[2] gpuAddress], [targets[3] gpuAddress], [targets[4] gpuAddress] },
    };
    id<MTLBuffer> outer_buffer = [device newBufferWithBytes:&outer length:sizeof outer options:0];
    check_scatter(pipeline, outer_buffer, targets);
    for (int i = 0; i < 5; i++) [targets[i] release];
    [inner_buffer release];
    [outer_buffer release];
    [pipeline release];
}

static MTLArgumentDescriptor *descriptor(MTLDataType type, NSUInteger index, NSUInteger length) {
    MTLArgumentDescriptor *made = [MTLArgumentDescriptor argumentDescriptor];
    [made setDataType:type];
    [made setIndex:index];
    [made setArrayLength:length];
    return made;
}

/* Encoders made from descriptors lay arguments out as the compiler lays out the structure. */
static void test_descriptors(void) {
    id<MTLComputePipelineState> pipeline = scatter_pipeline();
    id<MTLBuffer> targets[5];
    for (int i = 0; i < 5; i++) targets[i] = make_ints(8, -1, 0);
    id<MTLArgumentEncoder> inner =
        [device newArgumentEncoderWithArguments:[NSArray arrayWithObjects:descriptor(MTLDataTypePointer, 0, 0),
                                                                          descriptor(MTLDataTypeInt, 1, 0), nil]];
    /* Descriptors may be in any order. */
    id<MTLArgumentEncoder> outer =
        [device newArgumentEncoderWithArguments:[NSArray arrayWithObjects:descriptor(MTLDataTypePointer, 3, 3),
                                                                          descriptor(MTLDataTypePointer, 0, 0),
                                                                          descriptor(MTLDataTypeFloat, 2, 0),
                                                                          descriptor(MTLDataTypePointer, 1, 0), nil]];
    CHECK([inner encodedLength] == sizeof(inner_arguments) && [inner alignment] == 8 && [inner device] == device);
    CHECK([outer encodedLength] == sizeof(outer_arguments));
    const NSUInteger stride = [inner encodedLength];
    id<MTLBuffer> inner_buffer = [device newBufferWithLength:3 * stride options:0];
    id<MTLBuffer> outer_buffer = [device newBufferWithLength:[outer encodedLength] options:0];
    [inner setArgumentBuffer:inner_buffer startOffset:0 arrayElement:2];
    [inner setBuffer:targets[1] offset:0 atIndex:0];
    *(int *)[inner constantDataAtIndex:1] = 7;
    CHECK(all_bytes([inner_buffer contents], 2 * stride, 0));
    [outer setArgumentBuffer:outer_buffer offset:0];
    [outer setBuffer:targets[0] offset:0 atIndex:0];
    [outer setBuffer:inner_buffer offset:2 * stride atIndex:1];
    *(float *)[outer constantDataAtIndex:2] = 2.0f;
    const id<MTLBuffer> many[] = {targets[2], targets[3], targets[4]};
    const NSUInteger offsets[] = {0, 0, 0};
    [outer setBuffers:many offsets:offsets withRange:NSMakeRange(3, 3)];
    check_scatter(pipeline, outer_buffer, targets);

    /* A call that raises stores nothing. */
    const uint64_t first = *(uint64_t *)[outer_buffer contents];
    const NSUInteger beyond[] = {0, 32, 0};
    CHECK_RAISES("must be < [buffer length]", [outer setBuffers:many offsets:beyond withRange:NSMakeRange(0, 2)]);
    CHECK_RAISES("of another type", [outer setBuffers:many offsets:offsets withRange:NSMakeRange(0, 3)]);
    CHECK(*(uint64_t *)[outer_buffer contents] == first);
    CHECK_RAISES("past the end of any buffer", [inner setArgumentBuffer:inner_buffer startOffset:0
                                                           arrayElement:NSUIntegerMax / stride + 1]);
    CHECK_RAISES("past the end of any buffer", [inner setArgumentBuffer:inner_buffer
                                                            startOffset:NSUIntegerMax - stride + 1
                                                           arrayElement:1]);
    CHECK_RAISES("no argument with index 9", [outer setBuffer:targets[0] offset:0 atIndex:9]);
    CHECK_RAISES("of another type", [outer setBuffer:targets[0] offset:0 atIndex:2]);
    CHECK_RAISES("not a constant", [outer constantDataAtIndex:0]);
    CHECK_RAISES("must be < [buffer length]", [outer setBuffer:targets[0] offset:32 atIndex:0]);
    CHECK_RAISES("multiple of the alignment", [outer setArgumentBuffer:outer_buffer offset:4]);
    CHECK_RAISES("exceed the buffer's length", [outer setArgumentBuffer:outer_buffer offset:8]);
    CHECK_RAISES("not a buffer", [outer newArgumentEncoderForBufferAtIndex:2]);
    [outer setArgumentBuffer:nil offset:0];
    CHECK_RAISES("no argument buffer is set", [outer setBuffer:targets[0] offset:0 atIndex:0]);
    id<MTLBuffer> private = [device newBufferWithLength:64 options:MTLResourceStorageModePrivate];
    CHECK_RAISES("private", [outer setArgumentBuffer:private offset:0]);
    NSArray *twice =
        [NSArray arrayWithObjects:descriptor(MTLDataTypePointer, 0, 2), descriptor(MTLDataTypeInt, 1, 0), nil];
    CHECK_RAISES("two descriptors", [device newArgumentEncoderWithArguments:twice]);
    NSArray *texture = [NSArray arrayWithObject:descriptor(MTLDataTypeTexture, 0, 0)];
    CHECK_RAISES("cannot be an argument", [device newArgumentEncoderWithArguments:texture]);
    MTLArgumentDescriptor *endless = [MTLArgumentDescriptor argumentDescriptor];
    [endless setDataType:MTLDataTypeFloat];
    for (unsigned bit = 40; bit < 64; bit++) {
        [endless setArrayLength:(NSUInteger)1 << bit];
        CHECK_RAISES("needs more than maxBufferLength",
                     [device newArgumentEncoderWithArguments:[NSArray arrayWithObject:endless]]);
    }
    CHECK_RAISES("arguments must not be empty", [device newArgumentEncoderWithArguments:[NSArray array]]);

    [private release];
    for (int i = 0; i < 5; i++) [targets[i] release];
    [inner release];
    [outer release];
    [inner_buffer release];
    [outer_buffer release];
    [pipeline release];
}

/* Encoders made from the function itself, and what reflection says of the structure. */
static void test_function(void) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:arguments_source options:nil error:&error];
    id<MTLFunction> function = [library newFunctionWithName:@"scatter"];
    MTLAutoreleasedArgument argument = nil;
    id<MTLArgumentEncoder> outer = [function newArgumentEncoderWithBufferIndex:0 reflection:&argument];
    CHECK([outer encodedLength] == sizeof(outer_arguments) && [outer alignment] == 8);
    CHECK([[argument name] isEqual:@"outer"] && [argument bufferDataType] == MTLDataTypeStruct);
    id<MTLArgumentEncoder> inner = [outer newArgumentEncoderForBufferAtIndex:1];
    CHECK([inner encodedLength] == sizeof(inner_arguments));
    CHECK([outer newArgumentEncoderForBufferAtIndex:0] == nil);

    id<MTLBuffer> targets[5];
    for (int i = 0; i < 5; i++) targets[i] = make_ints(8, -1, 0);
    id<MTLBuffer> inner_buffer = [device newBufferWithLength:[inner encodedLength] options:0];
    id<MTLBuffer> outer_buffer = [device newBufferWithLength:[outer encodedLength] options:0];
    [inner setArgumentBuffer:inner_buffer offset:0];
    [inner setBuffer:targets[1] offset:0 atIndex:0];
    *(int *)[inner constantDataAtIndex:1] = 7;
    [outer setArgumentBuffer:outer_buffer offset:0];
    [outer setBuffer:targets[0] offset:0 atIndex:0];
    [outer setBuffer:inner_buffer offset:0 atIndex:1];
    *(float *)[outer constantDataAtIndex:2] = 2.0f;
    for (NSUInteger i = 0; i < 3; i++) [outer setBuffer:targets[2 + i] offset:0 atIndex:3 + i];
    id<MTLComputePipelineState> pipeline = make_pipeline(library, @"scatter");
    check_scatter(pipeline, outer_buffer, targets);

    MTLStructType *structure = [argument bufferStructType];
    CHECK([[structure members] count] == 4);
    MTLStructMember *many = [structure memberByName:@"many"];
    CHECK([many dataType] == MTLDataTypeArray && [many argumentIndex] == 3 && [many offset] == 24);
    CHECK([[many arrayType] arrayLength] == 3 && [[many arrayType] stride] == 8);
    CHECK([[many arrayType] elementType] == MTLDataTypePointer);
    MTLPointerType *nested = [[structure memberByName:@"inner"] pointerType];
    CHECK([nested elementIsArgumentBuffer] && [nested access] == MTLBindingAccessReadOnly);
    CHECK([[[nested elementStructType] memberByName:@"amount"] dataType] == MTLDataTypeInt);
    CHECK([[[structure memberByName:@"first"] pointerType] access] == MTLBindingAccessReadWrite);
    CHECK([[structure memberByName:@"scale"] dataType] == MTLDataTypeFloat && [structure memberByName:@"none"] == nil);
    id<MTLBufferBinding> binding =
        (id<MTLBufferBinding>)[[[library reflectionForFunctionWithName:@"scatter"] bindings] objectAtIndex:0];
    id<MTLArgumentEncoder> bound = [device newArgumentEncoderWithBufferBinding:binding];
    CHECK([bound encodedLength] == [outer encodedLength]);
    CHECK_RAISES("takes no buffer at index 1", [function newArgumentEncoderWithBufferIndex:1]);

    [bound release];
    for (int i = 0; i < 5; i++) [targets[i] release];
    [pipeline release];
    [inner_buffer release];
    [outer_buffer release];
    [inner release];
    [outer release];
    [function release];
    [library release];
}

/* Pointers in an array take an index each. A host may leave out the indices that the kernel does not touch. */
static void test_array(void) {
    NSError *error = nil;
    NSString *text = @"using namespace metal;\n"
                      "kernel void spread(device int *to[3] [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
                      "    to[0][i] = 1; to[2][i] = int(i); }\n";
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:&error];
    id<MTLFunction> function = [library newFunctionWithName:@"spread"];
    MTLComputePipelineReflection *reflection = nil;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function
                                                                               options:MTLPipelineOptionArgumentInfo
                                                                            reflection:&reflection
                                                                                 error:&error];
    CHECK(pipeline != nil && [[reflection arguments] count] == 1);
    CHECK([[[reflection arguments] objectAtIndex:0] arrayLength] == 3 &&
          [[[reflection arguments] objectAtIndex:0] index] == 2);
    id<MTLBuffer> first = make_ints(4, -1, 0), last = make_ints(4, -1, 0);
    id<MTLCommandBuffer> done = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:first offset:0 atIndex:2];
        [encoder setBuffer:last offset:0 atIndex:4];
        [encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    });
    CHECK([done status] == MTLCommandBufferStatusCompleted && are_ints(first, 1, 0) && are_ints(last, 0, 1));
    [first release];
    [last release];
    [pipeline release];
    [function release];
    [library release];
}

/* Matrices, packed vectors, atomics, and what templates make: behind buffers and in structures. */
static void test_stored_types(void) {
    NSError *error = nil;
    NSString *text =
        @"#include <metal_stdlib>\nusing namespace metal;\n"
         "template <typename T> struct Pair { T a, b; };\n"
         "struct All { float4x4 m; half2x3 h; packed_float3 p; atomic_uint a; float3x3 many[2];\n"
         "    packed_vec<uchar, 4> u; matrix<float, 2, 4> w; int8_t i; };\n"
         "kernel void k(constant All &all, device float3x4 *m, device atomic_int *a, device packed_half3 *p,\n"
         "    device metal::vec<half, 2> *v, device atomic<uint> *b, device matrix<half, 4> *w,\n"
         "    device packed_vec<short, 4> *u, device Pair<float> *own, constant ulong3 &wide, device int8_t *small,\n"
         "    device uint16_t *fixed) { *m = float3x4(0); own->a = all.m[0][0]; *small = wide.x, *fixed = all.i;\n"
         "    atomic_store_explicit(a, 1, memory_order_relaxed); (void)p, (void)v, (void)b, (void)w, (void)u; }\n";
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:&error];
    MTLFunctionReflection *reflection = [library reflectionForFunctionWithName:@"k"];
    const struct {
        MTLDataType type;
        NSUInteger alignment;
    } expected[] = {{MTLDataTypeStruct, 16}, {MTLDataTypeFloat3x4, 16}, {MTLDataTypeInt, 4},
                    {MTLDataTypeHalf3, 2},   {MTLDataTypeHalf2, 4},     {MTLDataTypeUInt, 4},
                    {MTLDataTypeHalf4x4, 8}, {MTLDataTypeShort4, 2},    {MTLDataTypeNone, 0},
                    {MTLDataTypeULong3, 32}, {MTLDataTypeChar, 1},      {MTLDataTypeUShort, 2}};
    CHECK([[reflection bindings] count] == 12);
    for (NSUInteger i = 0; i < [[reflection bindings] count]; i++) {
        id<MTLBufferBinding> binding = (id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:i];
        CHECK([binding bufferDataType] == expected[i].type);
        CHECK(expected[i].alignment == 0 || [binding bufferAlignment] == expected[i].alignment);
    }
    MTLStructType *all = [(id<MTLBufferBinding>)[[reflection bindings] objectAtIndex:0] bufferStructType];
    const MTLDataType members[] = {MTLDataTypeFloat4x4, MTLDataTypeHalf2x3, MTLDataTypeFloat3,   MTLDataTypeUInt,
                                   MTLDataTypeArray,    MTLDataTypeUChar4,  MTLDataTypeFloat2x4, MTLDataTypeChar};
    CHECK([[all members] count] == 8);
    for (NSUInteger i = 0; i < [[all members] count]; i++)
        CHECK([(MTLStructMember *)[[all members] objectAtIndex:i] dataType] == members[i]);
    CHECK([[[all memberByName:@"many"] arrayType] elementType] == MTLDataTypeFloat3x3);
    [library release];
}

static void test_layout(void) {
    NSArray *all = [NSArray arrayWithObjects:descriptor(MTLDataTypeChar, 0, 0), descriptor(MTLDataTypeFloat3, 1, 0),
                                             descriptor(MTLDataTypeHalf4x4, 2, 0), descriptor(MTLDataTypeULong, 3, 2),
                                             descriptor(MTLDataTypeBool, 6, 0), nil];
    id<MTLArgumentEncoder> encoder = [device newArgumentEncoderWithArguments:all];
    id<MTLBuffer> buffer = [device newBufferWithLength:[encoder encodedLength] options:0];
    [encoder setArgumentBuffer:buffer offset:0];
    const uint8_t *start = [buffer contents];
    const NSUInteger indices[] = {0, 1, 2, 3, 4, 6};
    const long expected[] = {0, 16, 32, 64, 72, 80};
    for (int i = 0; i < 6; i++) CHECK((uint8_t *)[encoder constantDataAtIndex:indices[i]] - start == expected[i]);
    CHECK([encoder encodedLength] == 96 && [encoder alignment] == 16);
    [buffer release];
    [encoder release];
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_by_hand);
        RUN(test_descriptors);
        RUN(test_function);
        RUN(test_array);
        RUN(test_stored_types);
        RUN(test_layout);
        [queue release];
    }
    return checks_report();
}
