/* Libraries and functions, their errors, constants and files. */
#include "framework_kernels.h"
#include <stdlib.h>

static void test_library(void) {
    id<MTLLibrary> library = make_library();
    NSArray *names =
        [NSArray arrayWithObjects:@"add", @"stepped", @"gated", @"ignoring", @"total", @"digit", @"scaled", nil];
    CHECK([[library functionNames] isEqual:names]);
    CHECK([library device] == device && [library type] == MTLLibraryTypeExecutable);
    CHECK([library newFunctionWithName:@"missing"] == nil);
    NSError *error = nil;
    MTLFunctionConstantValues *none = [[[MTLFunctionConstantValues alloc] init] autorelease];
    CHECK([library newFunctionWithName:@"missing" constantValues:none error:&error] == nil);
    CHECK([error code] == MTLLibraryErrorFunctionNotFound && [[error domain] isEqual:MTLLibraryErrorDomain]);
    CHECK([[error localizedDescription] rangeOfString:@"missing"].location != NSNotFound);
    id<MTLFunction> function = [library newFunctionWithName:@"stepped"];
    CHECK([[function name] isEqual:@"stepped"] && [function functionType] == MTLFunctionTypeKernel);
    MTLFunctionConstant *stride = [[function functionConstantsDictionary] objectForKey:@"stride"];
    CHECK([stride index] == 0 && [stride type] == MTLDataTypeInt);
    CHECK([[[function functionConstantsDictionary] objectForKey:@"twice"] type] == MTLDataTypeBool);
    [function release];
    CHECK([device newDefaultLibrary] == nil);
    [library release];
}

static void test_compile_error(void) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:@"kernel void broken(\n    device float *x [[buffer(0)]]) {\n"
                                                           "  undefined_thing(x);\n}\n"
                                                  options:nil
                                                    error:&error];
    CHECK(library == nil && [[error domain] isEqual:MTLLibraryErrorDomain]);
    CHECK([error code] == MTLLibraryErrorCompileFailure);
    CHECK([[error localizedDescription] rangeOfString:@"program_source:3"].location != NSNotFound);
    CHECK([[error localizedDescription] rangeOfString:@"undefined_thing"].location != NSNotFound);
}

static void test_asynchronous(void) {
    id<MTLSharedEvent> done = [device newSharedEvent];
    [device newLibraryWithSource:@"kernel void f() {}" options:nil
               completionHandler:^(id<MTLLibrary> library, NSError *error) {
                   CHECK(error == nil && [[library functionNames] count] == 1);
                   id<MTLFunction> function = [library newFunctionWithName:@"f"];
                   [device newComputePipelineStateWithFunction:function
                                             completionHandler:^(id<MTLComputePipelineState> state, NSError *problem) {
                                                 CHECK(state != nil && problem == nil);
                                                 [done setSignaledValue:1];
                                             }];
                   [function release];
               }];
    CHECK([done waitUntilSignaledValue:1 timeoutMS:LONG_MS]);
    [done release];
}

static void test_constants(void) {
    id<MTLLibrary> library = make_library();
    MTLFunctionConstantValues *constants = [[[MTLFunctionConstantValues alloc] init] autorelease];
    int step = 7;
    bool twice = true;
    NSError *error = nil;
    [constants setConstantValue:&step type:MTLDataTypeInt atIndex:0];
    [constants setConstantValue:&twice type:MTLDataTypeBool withName:@"twice"];
    id<MTLFunction> function = [library newFunctionWithName:@"stepped" constantValues:constants error:&error];
    /* The function has its own copy of the values. */
    step = 1000;
    [constants setConstantValue:&step type:MTLDataTypeInt atIndex:0];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    CHECK(pipeline != nil && error == nil);
    id<MTLBuffer> values = make_ints(10, 0, 1);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder dispatchThreads:MTLSizeMake(10, 1, 1) threadsPerThreadgroup:MTLSizeMake(10, 1, 1)];
    });
    CHECK(are_ints(values, 14, 1));
    CHECK_RAISES("value must not be NULL", [constants setConstantValue:(void *_Nonnull)NULL type:MTLDataTypeInt
                                                               atIndex:0]);
    const int64_t longs[4] = {0};
    [constants setConstantValue:longs type:MTLDataTypeLong4 atIndex:9];
    CHECK_RAISES("data type 58", [constants setConstantValue:&step type:MTLDataTypeTexture atIndex:0]);
    CHECK_RAISES("function constant index 65535: the largest is 65534", [constants setConstantValue:&step
                                                                                               type:MTLDataTypeInt
                                                                                            atIndex:UINT16_MAX]);
    [values release];
    [pipeline release];
    [function release];
    /* A descriptor may name the specialized function anew. */
    MTLFunctionDescriptor *descriptor = [MTLFunctionDescriptor functionDescriptor];
    [descriptor setName:@"stepped"];
    [descriptor setSpecializedName:@"stepped by 1000"];
    [descriptor setConstantValues:constants];
    function = [library newFunctionWithDescriptor:descriptor error:&error];
    CHECK([[function name] isEqual:@"stepped by 1000"] && [function label] == nil);
    pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    CHECK(pipeline != nil);
    [pipeline release];
    [function release];
    [descriptor setName:@"missing"];
    CHECK([library newFunctionWithDescriptor:descriptor error:&error] == nil);
    /* A required constant is missing. */
    function = [library newFunctionWithName:@"stepped"];
    CHECK([device newComputePipelineStateWithFunction:function error:&error] == nil);
    CHECK([[error localizedDescription] rangeOfString:@"stepped"].location != NSNotFound);
    CHECK([[error localizedDescription] rangeOfString:@"has no value"].location != NSNotFound);
    [function release];
    [library release];
}

static void check_refused(MTLCompileOptions *options, NSString *says) {
    NSError *error = nil;
    CHECK([device newLibraryWithSource:@"kernel void f() {}" options:options error:&error] == nil);
    CHECK([[error domain] isEqual:MTLLibraryErrorDomain] && [error code] == MTLLibraryErrorUnsupported);
    CHECK([[error localizedDescription] rangeOfString:says].location != NSNotFound);
}

/* Options that the software Metal does not support are refused; the others take effect. */
static void test_options(void) {
    MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
    CHECK([options languageVersion] == MTLLanguageVersion3_2 && [options mathMode] == MTLMathModeFast);
    [options setLibraryType:(MTLLibraryType)2];
    check_refused(options, @"library type 2 is unknown");
    [options setLibraryType:MTLLibraryTypeDynamic];
    check_refused(options, @"needs an installName");
    [options setLibraryType:MTLLibraryTypeExecutable];
    [options setLibraries:[NSArray arrayWithObject:@"a library"]];
    CHECK_RAISES("a library is not a dynamic library", [device newLibraryWithSource:@"" options:options error:NULL]);
    [options setLibraries:[NSArray array]];
    const NSUInteger unknown[] = {(1 << 16) + 3, (2 << 16) + 5, (3 << 16) + 3, 5 << 16, 7};
    for (int i = 0; i < 5; i++) {
        [options setLanguageVersion:(MTLLanguageVersion)unknown[i]];
        check_refused(options, [NSString stringWithFormat:@"%lu.%lu", (unsigned long)unknown[i] >> 16,
                                                          (unsigned long)unknown[i] & 0xffff]);
    }
    [options setLanguageVersion:MTLLanguageVersion2_4];
    [options setMathMode:(MTLMathMode)3];
    CHECK_RAISES("unknown math mode 3", [device newLibraryWithSource:@"" options:options error:NULL]);
    [options setMathMode:MTLMathModeRelaxed];

    /* If no library defines a function, pipelines that call it fail, whether or not undefined symbols are allowed. */
    NSString *text = @"#if __METAL_VERSION__ != 240\n#error not the version asked for\n#endif\n"
                     @"float elsewhere(float x);\nkernel void calls(device float *a) { a[0] = elsewhere(a[0]); }\n"
                     @"kernel void sized(device float *a) { a[0] = 1; }\n";
    for (int allowed = 0; allowed < 2; allowed++) {
        NSError *error = nil;
        [options setAllowReferencingUndefinedSymbols:allowed != 0];
        id<MTLLibrary> library = [device newLibraryWithSource:text options:options error:&error];
        CHECK(library != nil && error == nil);
        id<MTLFunction> function = [library newFunctionWithName:@"calls"];
        CHECK([device newComputePipelineStateWithFunction:function error:&error] == nil);
        CHECK([[error localizedDescription] rangeOfString:@"elsewhere"].location != NSNotFound);
        [function release];
        [library release];
    }

    [options setMaxTotalThreadsPerThreadgroup:64];
    [options setRequiredThreadsPerThreadgroup:MTLSizeMake(8, 4, 1)];
    id<MTLLibrary> library = [device newLibraryWithSource:text options:options error:NULL];
    id<MTLComputePipelineState> pipeline = make_pipeline(library, @"sized");
    CHECK([pipeline maxTotalThreadsPerThreadgroup] == 64 && [pipeline requiredThreadsPerThreadgroup].height == 4);
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    id<MTLFunction> sized = [[library newFunctionWithName:@"sized"] autorelease];
    [descriptor setComputeFunction:sized];
    const MTLSize impossible[] = {{65, 1, 1}, {0, 5, 1}, {8, 0, 0}, {1ul << 32, 1ul << 32, 1}};
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        [descriptor setRequiredThreadsPerThreadgroup:impossible[i]];
        CHECK_RAISES("the descriptor's requiredThreadsPerThreadgroup",
                     [device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone
                                                        reflection:NULL
                                                             error:NULL]);
    }
    CHECK([pipeline reflection] == nil);
    [descriptor setRequiredThreadsPerThreadgroup:MTLSizeMake(0, 0, 0)];
    [descriptor setMaxTotalThreadsPerThreadgroup:16];
    CHECK_RAISES("the library's requiredThreadsPerThreadgroup {8, 4, 1} must be all zero, or have 1 to 16 threads",
                 [device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone reflection:NULL
                                                         error:NULL]);
    id<MTLBuffer> values = make_ints(1, 0, 0);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:values offset:0 atIndex:0];
        CHECK_RAISES("requires, {8, 4, 1}", [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1)
                                                    threadsPerThreadgroup:MTLSizeMake(32, 1, 1)]);
        [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(8, 4, 1)];
    });
    CHECK(*(const float *)[values contents] == 1);
    [values release];
    [pipeline release];
    [library release];
}

/* The software Metal's own library files. */
static void test_container(void) {
    const char *text = [source UTF8String];
    const smtl_container_macro macros[] = {{"SCALE(x)", "(x) * 3"}, {"UNUSED", NULL}};
    size_t size = 0;
    uint8_t *bytes =
        smtl_container_create(text, strlen(text), macros, 2, MTLLanguageVersion3_0, MTLMathModeSafe, &size);
    dispatch_data_t data = dispatch_data_create(bytes, size, nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    NSError *error = (NSError *)1;
    id<MTLLibrary> library = [device newLibraryWithData:data error:&error];
    CHECK([[library functionNames] count] == 7 && error == nil);
    [library release];
    dispatch_release(data);

    char name[] = "/tmp/software-metal-library-XXXXXX";
    close(mkstemp(name));
    NSString *path = [NSString stringWithUTF8String:name];
    [[NSData dataWithBytes:bytes length:size] writeToFile:path atomically:NO];
    library = [device newLibraryWithURL:[NSURL fileURLWithPath:path] error:&error];
    CHECK([[library functionNames] count] == 7);
    [library release];

    /* A file that is cut anywhere is refused, and has no other effect. */
    for (size_t length = 0; length < size; length += length < 80 ? 1 : 97) {
        @autoreleasepool {
            uint8_t *cut = malloc(length + 1);
            memcpy(cut, bytes, length);
            NSError *problem = nil;
            data = dispatch_data_create(cut, length, nil, ^{ free(cut); });
            CHECK([device newLibraryWithData:data error:&problem] == nil);
            CHECK([problem code] == MTLLibraryErrorUnsupported);
            dispatch_release(data);
        }
    }
    free(bytes);
    [[NSFileManager defaultManager] removeFileAtPath:path handler:nil];
    CHECK([device newLibraryWithURL:[NSURL fileURLWithPath:path] error:&error] == nil);
    CHECK([error code] == MTLLibraryErrorFileNotFound);
    data = dispatch_data_create("MTLB\1\2\3\4 and more", 17, nil, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    CHECK([device newLibraryWithData:data error:&error] == nil);
    CHECK([[error localizedDescription] rangeOfString:@"Apple"].location != NSNotFound);
    dispatch_release(data);
}

int main(void) {
    setenv("MTL_DEBUG_LAYER", "1", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_library);
        RUN(test_compile_error);
        RUN(test_asynchronous);
        RUN(test_constants);
        RUN(test_options);
        RUN(test_container);
        [queue release];
    }
    return checks_report();
}
