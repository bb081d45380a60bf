/* What kernels log: levels, texts and values; who receives messages; and what happens if there are too many. */
#include "framework_kernels.h"
#include <sys/wait.h>

static NSString *const logging_source =
    @"#include <metal_stdlib>\n"
     "#include <metal_logging>\n"
     "using namespace metal;\n"
     "constexpr constant os_log shapes(\"test.shapes\", \"drawing\");\n"
     "enum kind : short { one = 1, minus = -1 };\n"
     "kernel void values(device float *a [[buffer(0)]]) {\n"
     "    shapes.log(\"int %d %5i|%-4d|%+d unsigned %u %x %#o\", -7, 42, 3, 4, 3000000000u, 255u, 8);\n"
     "    shapes.log_debug(\"float %f %.2e %g half %.1f bfloat %g\", a[0], 1234.5f, 0.5f, half(1.5), bfloat(2));\n"
     "    shapes.log_info(\"vector %.1v4hlf %v2u %v3hhd packed %v3f\", float4(1, 2, 3, 4), uint2(5, 6), char3(-1, 2, -3),\n"
     "                    packed_float3(7, 8, 9));\n"
     "    shapes.log_error(\"small %d %u %hhu %hd long %ld %lu bool %d enum %d %d\", char(-5), uchar(200), 511, 65537,\n"
     "                     -5000000000l, 18446744073709551615ul, true, one, minus);\n"
     "    shapes.log_fault(\"100%% %c none %d text %s odd %y %\", 'A');\n"
     "    os_log_default.log(\"pointer %d\", (device float *)a == a);\n"
     "    os_log_default.log_with_type(OS_LOG_TYPE_DEBUG, \"mixed %d %f %u\", 2.75f, 3, -1);\n"
     "}\n"
     "kernel void each(uint i [[thread_position_in_grid]], uint g [[threadgroup_position_in_grid]]) {\n"
     "    threadgroup_barrier(mem_flags::mem_none);\n"
     "    os_log_default.log(\"thread %u of %u\", i, g);\n"
     "}\n"
     "kernel void fails(device int *a [[buffer(0)]]) {\n"
     "    constexpr os_log own(\"\", \"\");\n"
     "    own.log_error(\"before\");\n"
     "    *(volatile device int *)nullptr = 1;\n"
     "    os_log_default.log_error(\"after\");\n"
     "}\n";

static id<MTLLibrary> make_logging_library(BOOL enabled) {
    MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
    [options setEnableLogging:enabled];
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:logging_source options:options error:&error];
    if (library == nil) {
        fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
        exit(1);
    }
    return library;
}

static id<MTLLogState> make_state(MTLLogLevel level, NSInteger size) {
    MTLLogStateDescriptor *descriptor = [[[MTLLogStateDescriptor alloc] init] autorelease];
    [descriptor setLevel:level];
    [descriptor setBufferSize:size];
    NSError *error = (NSError *)1;
    id<MTLLogState> state = [device newLogStateWithDescriptor:descriptor error:&error];
    CHECK(state != nil && error == nil);
    return state;
}

/* Gathers what comes, one line each. */
static NSMutableArray *gather(id<MTLLogState> state) {
    NSMutableArray *lines = [NSMutableArray array];
    [state addLogHandler:^(NSString *subSystem, NSString *category, MTLLogLevel level, NSString *message) {
        [lines addObject:[NSString stringWithFormat:@"%@/%@/%ld/%@", subSystem, category, (long)level, message]];
    }];
    return lines;
}

static id<MTLCommandBuffer> dispatch(id<MTLCommandBuffer> buffer, NSString *kernel, BOOL logging, NSUInteger threads) {
    id<MTLLibrary> library = make_logging_library(logging);
    id<MTLComputePipelineState> pipeline = make_pipeline(library, kernel);
    id<MTLBuffer> argument = [device newBufferWithLength:4 options:0];
    *(float *)[argument contents] = -0.25f;
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:argument offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(threads, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    [argument release];
    [pipeline release];
    [library release];
    return buffer;
}

static id<MTLCommandBuffer> buffer_with(id<MTLLogState> state) {
    MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
    [descriptor setLogState:state];
    return [queue commandBufferWithDescriptor:descriptor];
}

static void test_values(void) {
    id<MTLLogState> state = make_state(MTLLogLevelUndefined, 0);
    NSMutableArray *lines = gather(state);
    CHECK([dispatch(buffer_with(state), @"values", YES, 1) status] == MTLCommandBufferStatusCompleted);
    NSArray *expected =
        [NSArray arrayWithObjects:
                     @"test.shapes/drawing/3/int -7    42|3   |+4 unsigned 3000000000 ff 010",
                     @"test.shapes/drawing/1/float -0.250000 1.23e+03 0.5 half 1.5 bfloat 2",
                     @"test.shapes/drawing/2/vector 1.0,2.0,3.0,4.0 5,6 -1,2,-3 packed "
                     @"7.000000,8.000000,9.000000",
                     @"test.shapes/drawing/4/small -5 200 255 1 long -5000000000 18446744073709551615 bool 1 enum 1 -1",
                     @"test.shapes/drawing/5/100% A none (no value) text (no value) odd %y %", @"//3/pointer 1",
                     @"//1/mixed 2 3.000000 4294967295", nil];
    CHECK([lines isEqual:expected]);
    if (![lines isEqual:expected]) fprintf(stderr, "%s\n", [[lines description] UTF8String]);
    [state release];
}

/* The log state is that of the queue or of the command buffer. All its handlers receive messages, even if one of them
 * raises an exception. Messages below its level are left out. */
static void test_receivers(void) {
    id<MTLLogState> errors = make_state(MTLLogLevelError, 0), all = make_state(MTLLogLevelDebug, 0);
    [errors addLogHandler:^(NSString *subSystem, NSString *category, MTLLogLevel level, NSString *message) {
        [NSException raise:@"Test"
                    format:@"%@%@%ld%@: this report belongs to the test", subSystem, category, (long)level, message];
    }];
    NSMutableArray *some = gather(errors), *lines = gather(all);
    MTLCommandQueueDescriptor *descriptor = [[[MTLCommandQueueDescriptor alloc] init] autorelease];
    [descriptor setLogState:errors];
    id<MTLCommandQueue> own = [device newCommandQueueWithDescriptor:descriptor];
    dispatch([own commandBuffer], @"values", YES, 1);
    CHECK([some count] == 2 && [lines count] == 0);
    MTLCommandBufferDescriptor *other = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
    [other setLogState:all];
    dispatch([own commandBufferWithDescriptor:other], @"values", YES, 1);
    CHECK([some count] == 2 && [lines count] == 7);
    /* A library compiled without logging logs nothing. Without a log state a command buffer still completes. */
    CHECK([dispatch(buffer_with(all), @"values", NO, 1) status] == MTLCommandBufferStatusCompleted &&
          [lines count] == 7);
    CHECK([dispatch([queue commandBuffer], @"values", YES, 1) status] == MTLCommandBufferStatusCompleted);
    CHECK([lines count] == 7);
    [own release];
    [errors release];
    [all release];
}

/* Every thread's message arrives once. Messages that do not fit are counted. */
static void test_many(void) {
    id<MTLLogState> state = make_state(MTLLogLevelDebug, 1 << 20);
    NSMutableArray *lines = gather(state);
    dispatch(buffer_with(state), @"each", YES, 2000);
    NSMutableSet *different = [NSMutableSet setWithArray:lines];
    CHECK([lines count] == 2000 && [different count] == 2000);
    CHECK([different containsObject:@"//3/thread 1999 of 62"] && [different containsObject:@"//3/thread 0 of 0"]);
    [state release];

    state = make_state(MTLLogLevelDebug, 4096);
    lines = gather(state);
    CHECK([dispatch(buffer_with(state), @"each", YES, 2000) status] == MTLCommandBufferStatusCompleted);
    const NSUInteger came = [lines count] - 1;
    CHECK(came > 10 && came < 100);
    NSString *last = [NSString
        stringWithFormat:@"//4/%lu messages did not fit into the log state's 4096 bytes", (unsigned long)(2000 - came)];
    CHECK([[lines lastObject] isEqual:last]);
    [state release];
}

/* What a kernel logged before a fault arrives: it tells what led to the fault. */
static void test_fault(void) {
    id<MTLLogState> state = make_state(MTLLogLevelDebug, 0);
    NSMutableArray *lines = gather(state);
    CHECK([[dispatch(buffer_with(state), @"fails", YES, 1) error] code] == MTLCommandBufferErrorPageFault);
    CHECK([lines isEqual:[NSArray arrayWithObject:@"//4/before"]]);
    [state release];
}

static void test_misuse(void) {
    MTLLogStateDescriptor *descriptor = [[[MTLLogStateDescriptor alloc] init] autorelease];
    const NSInteger sizes[] = {-1, 1, 1023, 2000000000};
    for (int i = 0; i < 4; i++) {
        NSError *error = nil;
        [descriptor setBufferSize:sizes[i]];
        CHECK([device newLogStateWithDescriptor:descriptor error:&error] == nil);
        CHECK([[error domain] isEqual:MTLLogStateErrorDomain] && [error code] == MTLLogStateErrorInvalidSize);
    }
    id<MTLLogState> state = make_state(MTLLogLevelDebug, 1024);
    CHECK_RAISES("block must not be nil", [state addLogHandler:(void *_Nonnull)NULL]);
    [state release];
}

/* With MTL_LOG_LEVEL, and without a handler: to the standard error stream, here of a child that writes into a pipe. */
static void test_environment(void) {
    char text[4096] = "";
    FILE *child = popen("MTL_LOG_LEVEL=MTLLogLevelError exec /proc/$PPID/exe log 2>&1", "r");
    CHECK(child != NULL && fread(text, 1, sizeof text - 1, child) > 0);
    CHECK(pclose(child) == 0);
    /* Sanitizers that the tests may be built with write there as well. */
    CHECK(
        strstr(text,
               "test.shapes:drawing: MTLLogLevelError: small -5 200 255 1 long -5000000000 18446744073709551615 bool 1 "
               "enum 1 -1\n"
               "test.shapes:drawing: MTLLogLevelFault: 100% A none (no value) text (no value) odd %y %\n") != NULL);
    CHECK(strstr(text, "MTLLogLevelNotice") == NULL && strstr(text, "MTLLogLevelInfo") == NULL);
}

int main(int count, const char **arguments) {
    (void)arguments;
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        if (count > 1) {
            dispatch([queue commandBuffer], @"values", YES, 1);
            return checks_failed == 0 ? 0 : 1;
        }
        RUN(test_values);
        RUN(test_receivers);
        RUN(test_many);
        RUN(test_fault);
        RUN(test_misuse);
        RUN(test_environment);
        [queue release];
    }
    return checks_report();
}
