/* What kernels and dynamic libraries have under one name: variables, constructors and structures that differ. */
#include "framework_kernels.h"

#define COUNT 4

static NSString *const head = @"#include <metal_stdlib>\nusing namespace metal;\n";

static id<MTLLibrary> compile(NSString *text, NSString *install_name, NSArray *libraries) {
    MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
    if (install_name != nil) {
        [options setLibraryType:MTLLibraryTypeDynamic];
        [options setInstallName:install_name];
    }
    [options setLibraries:libraries];
    NSError *error = nil;
    id<MTLLibrary> library = [[device newLibraryWithSource:[head stringByAppendingString:text] options:options
                                                     error:&error] autorelease];
    if (library == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(library != nil);
    return library;
}

static NSArray *dynamic(NSString *text, NSString *install_name) {
    NSError *error = nil;
    id<MTLDynamicLibrary> library = [[device newDynamicLibrary:compile(text, install_name, nil)
                                                         error:&error] autorelease];
    if (library == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(library != nil);
    return [NSArray arrayWithObject:library];
}

/* The pipeline of the kernel `run`; nil with an error. */
static id<MTLComputePipelineState> pipeline_of(NSString *text, NSArray *libraries, NSError **error) {
    id<MTLFunction> function = [[compile(text, nil, libraries) newFunctionWithName:@"run"] autorelease];
    return [[device newComputePipelineStateWithFunction:function error:error] autorelease];
}

static float value_of(NSString *text, NSArray *libraries, int index) {
    NSError *error = nil;
    id<MTLComputePipelineState> pipeline = pipeline_of(text, libraries, &error);
    if (pipeline == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(pipeline != nil);
    if (pipeline == nil) return 0;
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    id<MTLCommandBuffer> buffer = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder dispatchThreads:MTLSizeMake(COUNT, 1, 1) threadsPerThreadgroup:MTLSizeMake(COUNT, 1, 1)];
    });
    CHECK([buffer error] == nil);
    return ((const float *)[values contents])[index];
}

/* Each way to have one table under one name in several sources; all but the numbers is the same. */
static NSString *tables(int number) {
    return [NSString stringWithFormat:@"#define VALUES {%d + 1, %d + 2}\n"
                                       "struct S { static constexpr constant float t[2] = VALUES; };\n"
                                       "template <int n> constant float u[2] = VALUES;\n"
                                       "inline constant float v[2] = VALUES;\n"
                                       "extern constant float w[2]; constant float w[2] = VALUES;\n"
                                       "struct D { float a[32] = {%d}; };\n"
                                       "inline float x(uint i) { D d; return d.a[i] + d.a[i + 1]; }\n",
                                      number, number, number];
}

static void test_variables(void) {
    NSArray *tools = dynamic([tables(10) stringByAppendingString:@"float f(uint i) { return S::t[i] + 100 * u<1>[i] + "
                                                                  "10000 * v[i]; }\n"
                                                                  "float g(uint i) { return w[i] + 100 * x(i); }\n"],
                             @"/tools");
    NSString *kernel =
        [tables(20) stringByAppendingString:@"float f(uint i); float g(uint i);\n"
                                             "kernel void run(device float *out [[buffer(0)]], uint i "
                                             "[[thread_position_in_grid]]) { uint k = i & 1; out[i] = i < 2 ? f(k) : "
                                             "S::t[k] + 100 * u<1>[k] + 10000 * v[k]; }\n"];
    CHECK(value_of(kernel, tools, 1) == 121212);
    CHECK(value_of(kernel, tools, 3) == 222222);
    kernel = [tables(20) stringByAppendingString:
                             @"float f(uint i); float g(uint i);\n"
                              "kernel void run(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                              "uint k = i & 1; out[i] = i < 2 ? g(k) : w[k] + 100 * x(k); }\n"];
    CHECK(value_of(kernel, tools, 0) == 1011);
    CHECK(value_of(kernel, tools, 2) == 2021);
}

/* The kernel declares `f` with `own`, and the library defines it with `other`. */
static void check_refused(NSString *own, NSString *other, NSString *function, NSString *call) {
    NSArray *tools = dynamic([NSString stringWithFormat:@"%@ %@", other, function], @"/tools");
    NSString *head_of_function = [function substringToIndex:[function rangeOfString:@" {"].location];
    NSString *kernel = [NSString stringWithFormat:@"%@ %@; kernel void run(device float *out [[buffer(0)]], uint i "
                                                   "[[thread_position_in_grid]]) { P p{}; out[i] = %@; }",
                                                  own, head_of_function, call];
    NSError *error = nil;
    CHECK(pipeline_of(kernel, tools, &error) == nil);
    NSString *text = [error localizedDescription];
    const BOOL said = text != nil && [text rangeOfString:@"is declared with other types than it has in the dynamic "
                                                          "library '/tools'"]
                                             .location != NSNotFound;
    CHECK(said);
    if (!said) fprintf(stderr, "%s: %s\n", [own UTF8String], text == nil ? "(none)" : [text UTF8String]);
    CHECK(value_of([kernel stringByReplacingOccurrencesOfString:own withString:other], tools, 0) == 7);
}

static void test_structures(void) {
    NSString *result = @"P f() { P p{}; p.v[0] = 7; return p; }";
    check_refused(@"struct P { float v[8]; };", @"struct P { float v[64]; };", result, @"f().v[0]");
    check_refused(@"struct Q { float w[8]; }; struct P { float v[1]; Q q; };",
                  @"struct Q { float w[64]; }; struct P { float v[1]; Q q; };", result, @"f().v[0]");
    NSString *parameter = @"float f(P p) { return p.v[0] + 7; }";
    check_refused(@"struct P { float v[8]; };", @"struct P { float v[64]; };", parameter, @"f(p)");
    check_refused(@"struct P { float v[1]; };", @"struct P { float v[2]; };", parameter, @"f(p)");
    /* Structures without a name have numbers, which are others in other sources. */
    NSString *nameless = @"struct P { union { float v[8]; int w; }; struct { float x, y; } z[3]; };";
    NSString *others = @"struct O { struct { int a; } b; union { int c; }; }; O o() { O o; o.b.a = 1; return o; }";
    NSArray *tools = dynamic([NSString stringWithFormat:@"%@ %@ %@", others, nameless, result], @"/tools");
    NSString *kernel = [nameless stringByAppendingString:@"P f(); kernel void run(device float *out [[buffer(0)]]) { "
                                                          "out[0] = f().v[0]; }"];
    CHECK(value_of(kernel, tools, 0) == 7);
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_variables);
        RUN(test_structures);
        [queue release];
        [device release];
    }
    return checks_report();
}
