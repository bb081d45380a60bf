/* Kernels that call functions of dynamic libraries: which are found, what goes wrong, and the libraries' files. */
#include "framework_kernels.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 70

static NSString *folder;

static NSString *const kernel_source =
    @"#include <metal_stdlib>\n"
     "using namespace metal;\n"
     "extern int changed(int x);\n"
     "extern float changed(float x);\n"
     "namespace tools { int sum_of_group(threadgroup int *space, int mine, uint i); }\n"
     "int next_number(device atomic_int *counter);\n"
     "int missing(int x);\n"
     "long narrow(int x);\n"
     "kernel void call(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] = changed(values[i]) + int(changed(0.5f)); }\n"
     "kernel void meet(device int *values [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {\n"
     "    threadgroup int space[70];\n"
     "    values[i] = tools::sum_of_group(space, values[i], i); }\n"
     "kernel void number(device int *values [[buffer(0)]], device atomic_int *counter [[buffer(1)]],\n"
     "                   uint i [[thread_position_in_grid]]) { values[i] = next_number(counter); }\n"
     "kernel void wrong(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] = int(narrow(values[i])); }\n"
     "kernel void lost(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    values[i] = missing(values[i]); }\n"
     "kernel void alone(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) { values[i] = 7; }\n";

static NSString *const tools_source = @"#include <metal_stdlib>\n"
                                       "using namespace metal;\n"
                                       "static int twice(int x) { return 2 * x; }\n"
                                       "int changed(int x) { return twice(x); }\n"
                                       "float changed(float x) { return x * 10; }\n"
                                       "namespace tools {\n"
                                       "int sum_of_group(threadgroup int *space, int mine, uint i) {\n"
                                       "    space[i] = simd_sum(mine);\n"
                                       "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                                       "    return space[0] + space[32] + space[64]; }\n"
                                       "}\n"
                                       "int next_number(device atomic_int *counter) {\n"
                                       "    return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }\n"
                                       "int narrow(int x) { return x; }\n"
                                       "__attribute__((visibility(\"hidden\"))) int missing(int x) { return x; }\n";

static MTLCompileOptions *options_of(NSString *install_name, NSArray *libraries) {
    MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
    if (install_name != nil) {
        [options setLibraryType:MTLLibraryTypeDynamic];
        [options setInstallName:install_name];
    }
    [options setLibraries:libraries];
    return options;
}

static id<MTLLibrary> compile(NSString *text, MTLCompileOptions *options) {
    NSError *error = nil;
    id<MTLLibrary> library = [[device newLibraryWithSource:text options:options error:&error] autorelease];
    if (library == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(library != nil);
    return library;
}

static id<MTLDynamicLibrary> dynamic(NSString *text, NSString *install_name, NSArray *libraries) {
    NSError *error = nil;
    id<MTLDynamicLibrary> library = [[device newDynamicLibrary:compile(text, options_of(install_name, libraries))
                                                         error:&error] autorelease];
    if (library == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(library != nil && error == nil);
    return library;
}

static NSArray *one(id object) { return [NSArray arrayWithObject:object]; }

static id<MTLComputePipelineState> pipeline_of(id<MTLLibrary> library, NSString *kernel, NSArray *preloaded,
                                               NSError **error) {
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:[[library newFunctionWithName:kernel] autorelease]];
    [descriptor setPreloadedLibraries:preloaded];
    NSError *own = nil;
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:MTLPipelineOptionNone
                                                                              reflection:NULL
                                                                                   error:error == NULL ? &own : error];
    if (own != nil) fprintf(stderr, "%s\n", [[own localizedDescription] UTF8String]);
    return [pipeline autorelease];
}

static BOOL contains(NSString *text, NSString *words) {
    if (text != nil && [text rangeOfString:words].location != NSNotFound) return YES;
    fprintf(stderr, "the error is: %s\n", text == nil ? "(none)" : [text UTF8String]);
    return NO;
}

/* Runs one threadgroup over the values 0, 1, 2, ... and gives the results. */
static const int *results_of(id<MTLComputePipelineState> pipeline) {
    CHECK(pipeline != nil);
    id<MTLBuffer> values = [make_ints(COUNT, 0, 1) autorelease], counter = [make_ints(1, 0, 0) autorelease];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:values offset:0 atIndex:0];
    [encoder setBuffer:counter offset:0 atIndex:1];
    [encoder dispatchThreads:MTLSizeMake(COUNT, 1, 1) threadsPerThreadgroup:MTLSizeMake(COUNT, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([buffer error] == nil);
    if ([buffer error] != nil) fprintf(stderr, "%s\n", [[[buffer error] localizedDescription] UTF8String]);
    return [values contents];
}

static void test_calls(void) {
    id<MTLDynamicLibrary> tools = dynamic(tools_source, @"@executable_path/tools.metallib", nil);
    CHECK([tools device] == device && [[tools installName] isEqual:@"@executable_path/tools.metallib"]);
    id<MTLLibrary> library = compile(kernel_source, options_of(nil, one(tools)));
    const int *results = results_of(pipeline_of(library, @"call", nil, NULL));
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == 2 * i + 5);
    results = results_of(pipeline_of(library, @"meet", nil, NULL));
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == COUNT * (COUNT - 1) / 2);
    results = results_of(pipeline_of(library, @"number", nil, NULL));
    int sum = 0;
    for (int i = 0; i < COUNT; i++) sum += results[i];
    CHECK(sum == COUNT * (COUNT - 1) / 2);
    results = results_of(pipeline_of(library, @"alone", nil, NULL));
    CHECK(results[3] == 7);
}

static void test_mistakes(void) {
    NSError *error = nil;
    id<MTLDynamicLibrary> tools = dynamic(tools_source, @"/tools", nil);
    id<MTLLibrary> library = compile(kernel_source, options_of(nil, one(tools)));
    CHECK(pipeline_of(library, @"lost", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"function 'missing(int)' is declared and called, but not defined in "
                                                  "the dynamic libraries '/tools'"));
    CHECK(pipeline_of(library, @"wrong", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"function 'narrow(int)' is declared with other types "
                                                  "than it has in the dynamic library '/tools'"));
    CHECK(pipeline_of(compile(kernel_source, nil), @"call", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"the pipeline has no dynamic libraries"));
    CHECK([device newDynamicLibrary:library error:&error] == nil);
    CHECK([error code] == MTLDynamicLibraryErrorUnsupported && [[error domain] isEqual:MTLDynamicLibraryDomain]);
    CHECK(contains([error localizedDescription], @"the library is executable"));
    CHECK([device newLibraryWithSource:tools_source options:options_of(@"", nil) error:&error] == nil);
    CHECK(contains([error localizedDescription], @"needs an installName"));
    NSString *constant = @"constant int c [[function_constant(0)]]; int f(int x) { return x + c; }";
    CHECK([device newDynamicLibrary:compile(constant, options_of(@"/c", nil)) error:&error] == nil);
    CHECK([error code] == MTLDynamicLibraryErrorCompilationFailure);
    CHECK(contains([error localizedDescription], @"a dynamic library cannot have function constants"));
    CHECK_RAISES("is not a dynamic library", pipeline_of(library, @"call", one(library), NULL));
}

/* A variable's value that the optimiser computes, and no constant expression. */
static void test_computed_variables(void) {
    NSString *text = @"static int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }\n"
                      "constant int thirty = sum(5); constant int table[2] = {sum(2), sum(3)};\n"
                      "int changed(int x) { return thirty + table[x & 1]; } float changed(float x) { return 0; }\n";
    id<MTLLibrary> library = compile(kernel_source, options_of(nil, one(dynamic(text, @"/computed", nil))));
    const int *results = results_of(pipeline_of(library, @"call", nil, NULL));
    CHECK(results[0] == 31 && results[1] == 35);
}

static void test_order(void) {
    id<MTLDynamicLibrary> tools = dynamic(tools_source, @"/tools", nil);
    id<MTLDynamicLibrary> other = dynamic(@"int changed(int x) { return -x; }", @"/other", nil);
    id<MTLLibrary> library = compile(kernel_source, options_of(nil, one(tools)));
    const int *results = results_of(pipeline_of(library, @"call", one(other), NULL));
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == 5 - i);
    /* What a library calls is looked up in its own libraries. */
    NSString *base = @"int base(int x) { return x + 100; }", *over = @"int base(int x); int changed(int x) { return "
                                                                      "base(x); } float changed(float x) { return 0; }";
    id<MTLDynamicLibrary> above = dynamic(over, @"/above", one(dynamic(base, @"/base", nil)));
    results = results_of(pipeline_of(compile(kernel_source, options_of(nil, one(above))), @"call", nil, NULL));
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == i + 100);
    NSError *error = nil;
    above = dynamic(over, @"/above", nil);
    CHECK(pipeline_of(compile(kernel_source, options_of(nil, one(above))), @"call", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"function 'base(int)' is declared and called, but not defined"));
}

static void test_visibility(void) {
    MTLCompileOptions *options = options_of(@"/hidden", nil);
    [options setCompileSymbolVisibility:MTLCompileSymbolVisibilityHidden];
    NSString *text = @"__attribute__((visibility(\"default\"))) int changed(int x) { return 9; }\n"
                      "float changed(float x) { return 1; } int missing(int x) { return x; }\n";
    id<MTLDynamicLibrary> library = [[device newDynamicLibrary:compile(text, options) error:NULL] autorelease];
    id<MTLLibrary> kernels = compile(
        @"int changed(int); int missing(int);\n"
         "kernel void a(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] = changed(1); }\n"
         "kernel void b(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] = missing(1); }",
        options_of(nil, one(library)));
    CHECK(results_of(pipeline_of(kernels, @"a", nil, NULL))[1] == 9);
    NSError *error = nil;
    CHECK(pipeline_of(kernels, @"b", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"'missing(int)'"));
    /* A hidden function hides none of its overloads. */
    text = @"__attribute__((visibility(\"hidden\"))) float changed(float x) { return 1; }\n"
            "int changed(int x) { return int(changed(0.5f)) + 4; }\n";
    library = dynamic(text, @"/overloads", nil);
    kernels = compile(
        @"int changed(int); float changed(float);\n"
         "kernel void a(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] = changed(1); }\n"
         "kernel void b(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] = int(changed(1.0f)); }",
        options_of(nil, one(library)));
    CHECK(results_of(pipeline_of(kernels, @"a", nil, NULL))[1] == 5);
    CHECK(pipeline_of(kernels, @"b", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"'changed(float)'"));
    /* Nor does the prototype of one, whose types may be spelled in another way than the definition's. */
    text = @"__attribute__((visibility(\"hidden\"))) float changed(float);\n"
            "__attribute__((visibility(\"hidden\"))) int missing(thread const unsigned &, int x = 1);\n"
            "float changed(float x) { return 1; } int changed(int x) { return int(changed(0.5f)) + 4; }\n"
            "int missing(thread const uint &a, int b) { return b; } int missing(int x) { return x; }\n";
    library = dynamic(text, @"/prototypes", nil);
    text =
        [NSString stringWithFormat:@"%@ int missing(int x); int missing(thread const uint &a, int b);\n"
                                    "kernel void a(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) {"
                                    "v[i] = changed(1) + missing(2); }\n"
                                    "kernel void b(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) {"
                                    "v[i] = int(changed(1.0f)); }\n"
                                    "kernel void c(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) {"
                                    "v[i] = missing(i, 1); }",
                                   @"int changed(int); float changed(float);"];
    kernels = compile(text, options_of(nil, one(library)));
    CHECK(results_of(pipeline_of(kernels, @"a", nil, NULL))[1] == 7);
    CHECK(pipeline_of(kernels, @"b", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"'changed(float)'"));
    CHECK(pipeline_of(kernels, @"c", nil, &error) == nil);
    CHECK(contains([error localizedDescription], @"'missing(unsigned int const&, int)'"));
}

static NSURL *file_of(NSString *name) { return [NSURL fileURLWithPath:[folder stringByAppendingPathComponent:name]]; }

static void check_file(NSString *name, MTLDynamicLibraryError code, NSString *words) {
    NSError *error = nil;
    CHECK([device newDynamicLibraryWithURL:file_of(name) error:&error] == nil);
    CHECK([[error domain] isEqual:MTLDynamicLibraryDomain] && [error code] == (NSInteger)code);
    CHECK(contains([error localizedDescription], words));
}

static void test_files(void) {
    NSError *error = nil;
    id<MTLDynamicLibrary> base = dynamic(@"int base(int x) { return x + 100; }", @"@loader_path/base.metallib", nil);
    MTLCompileOptions *options = options_of(@"@loader_path/above.metallib", one(base));
    [options setPreprocessorMacros:[NSDictionary dictionaryWithObject:[NSNumber numberWithInt:3] forKey:@"ADDED"]];
    [options setRequiredThreadsPerThreadgroup:MTLSizeMake(2, 4, 1)];
    id<MTLLibrary> source = compile(@"int base(int x); int changed(int x) { return base(x) + ADDED; }\n"
                                     "float changed(float x) { return 0; }\n"
                                     "kernel void wide(device int *values [[buffer(0)]]) { values[0] = 1; }",
                                    options);
    id<MTLDynamicLibrary> above = [[device newDynamicLibrary:source error:NULL] autorelease];
    CHECK([above serializeToURL:file_of(@"above.metallib") error:&error] && error == nil);
    check_file(@"above.metallib", MTLDynamicLibraryErrorUnresolvedInstallName, @"@loader_path/base.metallib");
    CHECK([@"damaged" writeToURL:file_of(@"base.metallib") atomically:YES encoding:NSUTF8StringEncoding error:NULL]);
    check_file(@"base.metallib", MTLDynamicLibraryErrorInvalidFile, @"not a library of the software Metal");
    check_file(@"above.metallib", MTLDynamicLibraryErrorDependencyLoadFailure, @"not a library of the software Metal");
    check_file(@"none.metallib", MTLDynamicLibraryErrorInvalidFile, @"no such file");
    CHECK(unlink([[file_of(@"base.metallib") path] UTF8String]) == 0);
    CHECK(mkfifo([[file_of(@"base.metallib") path] UTF8String], 0600) == 0);
    check_file(@"base.metallib", MTLDynamicLibraryErrorInvalidFile, @"not a regular file");
    check_file(@"above.metallib", MTLDynamicLibraryErrorDependencyLoadFailure, @"not a regular file");
    CHECK([device newLibraryWithURL:file_of(@"base.metallib") error:&error] == nil);
    CHECK([error code] == MTLLibraryErrorFileNotFound);
    CHECK(unlink([[file_of(@"base.metallib") path] UTF8String]) == 0);
    CHECK(symlink("/dev/zero", [[file_of(@"base.metallib") path] UTF8String]) == 0);
    check_file(@"above.metallib", MTLDynamicLibraryErrorDependencyLoadFailure, @"not a regular file");
    CHECK(unlink([[file_of(@"base.metallib") path] UTF8String]) == 0);
    CHECK([base serializeToURL:file_of(@"base.metallib") error:&error]);
    NSData *whole = [NSData dataWithContentsOfURL:file_of(@"above.metallib")];
    for (NSUInteger length = 0; length < [whole length]; length++) {
        NSData *part = [whole subdataWithRange:NSMakeRange(0, length)];
        CHECK([part writeToFile:[file_of(@"part.metallib") path] atomically:NO]);
        CHECK([device newDynamicLibraryWithURL:file_of(@"part.metallib") error:&error] == nil);
        CHECK([error code] == MTLDynamicLibraryErrorInvalidFile);
    }
    id<MTLDynamicLibrary> loaded = [[device newDynamicLibraryWithURL:file_of(@"above.metallib")
                                                               error:&error] autorelease];
    CHECK(error == nil && [[loaded installName] isEqual:@"@loader_path/above.metallib"]);
    const int *results =
        results_of(pipeline_of(compile(kernel_source, options_of(nil, one(loaded))), @"call", nil, NULL));
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == i + 103);
    id<MTLLibrary> library = [[device newLibraryWithURL:file_of(@"above.metallib") error:&error] autorelease];
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:[[library newFunctionWithName:@"wide"] autorelease]];
    id<MTLComputePipelineState> wide = [device newComputePipelineStateWithDescriptor:descriptor
                                                                             options:MTLPipelineOptionNone
                                                                          reflection:NULL
                                                                               error:&error];
    CHECK([[wide autorelease] requiredThreadsPerThreadgroup].height == 4);
    CHECK([library type] == MTLLibraryTypeDynamic && [[library installName] isEqual:@"@loader_path/above.metallib"]);
    /* The file that `base` comes from needs `above` now. */
    options = options_of(@"@loader_path/base.metallib", one(above));
    base = [[device newDynamicLibrary:compile(@"int base(int x) { return x; }", options) error:NULL] autorelease];
    CHECK([base serializeToURL:file_of(@"base.metallib") error:&error]);
    check_file(@"above.metallib", MTLDynamicLibraryErrorDependencyLoadFailure, @"the library needs itself");
}

static void test_archives(void) {
    NSError *error = nil;
    id<MTLDynamicLibrary> tools = dynamic(tools_source, @"/tools", nil);
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    id<MTLLibrary> library = compile(kernel_source, options_of(nil, one(tools)));
    [descriptor setComputeFunction:[[library newFunctionWithName:@"call"] autorelease]];
    id<MTLBinaryArchive> archive =
        [[device newBinaryArchiveWithDescriptor:[[[MTLBinaryArchiveDescriptor alloc] init] autorelease]
                                          error:NULL] autorelease];
    CHECK([archive addComputePipelineFunctionsWithDescriptor:descriptor error:&error] && error == nil);
    [descriptor setBinaryArchives:one(archive)];
    const MTLPipelineOption only = MTLPipelineOptionFailOnBinaryArchiveMiss;
    id<MTLComputePipelineState> pipeline = [[device newComputePipelineStateWithDescriptor:descriptor options:only
                                                                               reflection:NULL
                                                                                    error:&error] autorelease];
    CHECK(results_of(pipeline)[4] == 13);
    MTLFunctionDescriptor *alone = [MTLFunctionDescriptor functionDescriptor];
    [alone setName:@"number"];
    CHECK([archive addFunctionWithDescriptor:alone library:library error:&error] && error == nil);
    [descriptor setComputeFunction:[[library newFunctionWithName:@"number"] autorelease]];
    pipeline = [[device newComputePipelineStateWithDescriptor:descriptor options:only reflection:NULL
                                                        error:&error] autorelease];
    CHECK(pipeline != nil && error == nil);
    [descriptor setPreloadedLibraries:one(dynamic(@"int changed(int x) { return 0; }", @"/other", nil))];
    CHECK([device newComputePipelineStateWithDescriptor:descriptor options:only reflection:NULL error:&error] == nil);
}

/* Of a family without function pointers and dynamic libraries. */
static void test_older_device(void) {
    NSError *error = nil;
    CHECK(![device supportsDynamicLibraries] && ![device supportsFunctionPointers]);
    CHECK([device newLibraryWithSource:tools_source options:options_of(@"/tools", nil) error:&error] == nil);
    CHECK([error code] == MTLLibraryErrorUnsupported && [[error domain] isEqual:MTLLibraryErrorDomain]);
    id<MTLLibrary> library = compile(@"#include <metal_stdlib>\n[[visible]] int same(int x) { return x; }\n"
                                      "kernel void alone(device int *values [[buffer(0)]]) { values[0] = 7; }",
                                     nil);
    CHECK([device newDynamicLibrary:library error:&error] == nil);
    CHECK([error code] == MTLDynamicLibraryErrorUnsupported && [[error domain] isEqual:MTLDynamicLibraryDomain]);
    CHECK([device newDynamicLibraryWithURL:file_of(@"none.metallib") error:&error] == nil);
    CHECK([error code] == MTLDynamicLibraryErrorUnsupported);
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [linked setFunctions:one([[library newFunctionWithName:@"same"] autorelease])];
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:[[library newFunctionWithName:@"alone"] autorelease]];
    [descriptor setLinkedFunctions:linked];
    CHECK([device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone reflection:NULL
                                                  error:&error] == nil);
    CHECK(contains([error localizedDescription], @"the device answers NO to supportsFunctionPointers"));
}

/* The same in a process that instruments kernels and the libraries that they call. */
static void test_again(const char *name, const char *value) {
    const pid_t child = fork();
    if (child == 0) {
        setenv(name, value, 1);
        setenv("AGAIN", "1", 1);
        execl("/proc/self/exe", "dynamic_libraries", (char *)NULL);
        _exit(1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    const bool again = getenv("AGAIN") != NULL;
    char made[] = "/tmp/dynamic-libraries-XXXXXX";
    CHECK(mkdtemp(made) != NULL);
    @autoreleasepool {
        folder = [NSString stringWithUTF8String:made];
        if (!again) {
            test_again("SOFTWARE_METAL_FAMILY", "5");
            test_again("SOFTWARE_METAL_SANITIZE", "all");
            test_again("SOFTWARE_METAL_PROFILE", [[folder stringByAppendingPathComponent:@"profile"] UTF8String]);
        }
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        if (getenv("SOFTWARE_METAL_FAMILY") != NULL)
            RUN(test_older_device);
        else
            RUN(test_calls);
        if (!again) {
            CHECK([device supportsDynamicLibraries]);
            RUN(test_mistakes);
            RUN(test_computed_variables);
            RUN(test_order);
            RUN(test_visibility);
            RUN(test_files);
            RUN(test_archives);
        }
        [[NSFileManager defaultManager] removeFileAtPath:folder handler:nil];
        [queue release];
        [device release];
    }
    return checks_report();
}
