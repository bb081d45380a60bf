/* Kernels that call functions through tables, and what goes wrong with them. */
#include "framework_kernels.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

static id<MTLFunction> function_of(id<MTLLibrary> from, NSString *name) {
    return [[from newFunctionWithName:name] autorelease];
}

static id<MTLComputePipelineState> pipeline_with(MTLLinkedFunctions *linked, NSString *kernel, NSError **error) {
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function_of(library, kernel)];
    [descriptor setLinkedFunctions:linked];
    return [[device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionNone reflection:NULL
                                                    error:error] autorelease];
}

static id<MTLComputePipelineState> linked_pipeline(NSString *kernel, NSArray *functions, NSError **error) {
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [linked setFunctions:functions];
    return pipeline_with(linked, kernel, error);
}

static id<MTLComputePipelineState> privately_linked(NSString *kernel, NSArray *functions, NSError **error) {
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [linked setPrivateFunctions:functions];
    return pipeline_with(linked, kernel, error);
}

static id<MTLVisibleFunctionTable> table_of(id<MTLComputePipelineState> pipeline, NSUInteger count,
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
static NSString *launch_with(id<MTLComputePipelineState> pipeline, id<MTLBuffer> values,
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

static NSString *launch(id<MTLComputePipelineState> pipeline, id<MTLBuffer> values, id<MTLVisibleFunctionTable> table,
                        int number) {
    return launch_with(pipeline, values, ^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setVisibleFunctionTable:table atBufferIndex:1];
        [encoder setBytes:&number length:sizeof number atIndex:2];
    });
}

static BOOL contains(NSString *text, NSString *words) {
    if (text != nil && [text rangeOfString:words].location != NSNotFound) return YES;
    fprintf(stderr, "the error is: %s\n", text == nil ? "(none)" : [text UTF8String]);
    return NO;
}

static void test_calls(void) {
    NSError *error = nil;
    NSArray *functions = [NSArray arrayWithObjects:function_of(library, @"doubled"), function_of(others, @"cube"),
                                                   function_of(library, @"same"), nil];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"call", functions, &error);
    CHECK(pipeline != nil);
    if (pipeline == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 3, functions);
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    const int *results = [values contents];
    CHECK(launch(pipeline, values, table, 0) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == (i % 2 == 0 ? 2 * i : i * i * i));
    CHECK(launch(pipeline, values, table, 1) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == (i % 2 == 0 ? i * i * i : i));
}

static void test_callees_that_meet(void) {
    NSArray *functions = [NSArray arrayWithObjects:function_of(others, @"lanes"), function_of(others, @"meeting"), nil];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"chosen", functions, NULL);
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 2, functions);
    id<MTLBuffer> values = [make_ints(COUNT, 0, 1) autorelease];
    const int *results = [values contents];
    CHECK(launch(pipeline, values, table, 0) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == (i < 32 ? 496 : i < 64 ? 1520 : 399));
    CHECK(launch(pipeline, values, table, 1) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(results[i] == (i < 32 ? 496 : i < 64 ? 1520 : 399));
}

/* A callee waits for another thread of its threadgroup. */
static void test_callees_that_poll(void) {
    NSArray *functions = [NSArray arrayWithObject:function_of(others, @"turn")];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"turns", functions, NULL);
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    CHECK(launch(pipeline, values, table_of(pipeline, 1, functions), 0) == nil);
    CHECK(((int *)[values contents])[0] == COUNT);
}

static void test_handles_by_name(void) {
    id<MTLFunction> doubled = function_of(library, @"doubled"), negative = function_of(library, @"negative");
    id<MTLComputePipelineState> pipeline =
        linked_pipeline(@"call", [NSArray arrayWithObjects:doubled, negative, nil], NULL);
    id<MTLFunctionHandle> handles[] = {[pipeline functionHandleWithName:@"negative"],
                                       [pipeline functionHandleWithName:@"doubled"]};
    CHECK([[handles[0] name] isEqual:@"negative"] && [[handles[1] name] isEqual:@"doubled"]);
    CHECK([pipeline functionHandleWithName:@"same"] == nil && [pipeline functionHandleWithName:@"call"] == nil);
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 3, nil);
    [table setFunctions:handles withRange:NSMakeRange(1, 2)];
    CHECK_RAISES("index 3 is not below the table's functionCount 3", [table setFunctions:handles
                                                                               withRange:NSMakeRange(2, 2)]);
    [table setFunctions:handles withRange:NSMakeRange(1, 2)];
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    CHECK(launch(pipeline, values, table, 1) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(((int *)[values contents])[i] == (i % 2 == 0 ? -i : 2 * i));
}

/* What is bound at index 1 of `call`, which wants a table there. */
static NSString *launch_with(id<MTLComputePipelineState> pipeline, void (^bind)(id<MTLComputeCommandEncoder> encoder)) {
    const int first = 0;
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:[make_ints(COUNT, 0, 0) autorelease] offset:0 atIndex:0];
    [encoder setBytes:&first length:sizeof first atIndex:2];
    bind(encoder);
    [encoder dispatchThreads:MTLSizeMake(COUNT, 1, 1) threadsPerThreadgroup:MTLSizeMake(COUNT, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    return [[buffer error] localizedDescription];
}

static void test_bindings(void) {
    NSArray *functions =
        [NSArray arrayWithObjects:function_of(library, @"doubled"), function_of(library, @"same"), nil];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"call", functions, NULL);
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 2, functions), none = nil;
    const id<MTLVisibleFunctionTable> *const given = &table, *const missing = &none;
    CHECK(launch_with(pipeline, ^(id<MTLComputeCommandEncoder> encoder) {
              [encoder setVisibleFunctionTables:given withBufferRange:NSMakeRange(1, 1)];
          }) == nil);
    CHECK(contains(launch_with(pipeline, ^(id<MTLComputeCommandEncoder> encoder) {
                       [encoder setBuffer:[make_ints(COUNT, 0, 0) autorelease] offset:0 atIndex:1];
                   }), @"is not a visible function table"));
    CHECK(contains(launch_with(pipeline, ^(id<MTLComputeCommandEncoder> encoder) {
                       [encoder setVisibleFunctionTables:missing withBufferRange:NSMakeRange(1, 1)];
                   }), @"missing buffer binding at index 1 for table"));
    CHECK_RAISES("31", launch_with(pipeline, ^(id<MTLComputeCommandEncoder> encoder) {
                     [encoder setVisibleFunctionTable:table atBufferIndex:31];
                 }));
}

static void test_archives(void) {
    NSError *error = nil;
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [linked setPrivateFunctions:[NSArray arrayWithObject:function_of(others, @"cube")]];
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function_of(library, @"named")];
    [descriptor setLinkedFunctions:linked];
    MTLBinaryArchiveDescriptor *empty = [[[MTLBinaryArchiveDescriptor alloc] init] autorelease];
    id<MTLBinaryArchive> archive = [[device newBinaryArchiveWithDescriptor:empty error:NULL] autorelease];
    CHECK([archive addComputePipelineFunctionsWithDescriptor:descriptor error:&error] && error == nil);
    [descriptor setBinaryArchives:[NSArray arrayWithObject:archive]];
    const MTLPipelineOption only = MTLPipelineOptionFailOnBinaryArchiveMiss;
    id<MTLComputePipelineState> pipeline = [[device newComputePipelineStateWithDescriptor:descriptor options:only
                                                                               reflection:NULL
                                                                                    error:&error] autorelease];
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    CHECK(launch(pipeline, values, nil, 0) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(((int *)[values contents])[i] == i * i * i);
    [descriptor setLinkedFunctions:nil];
    CHECK([device newComputePipelineStateWithDescriptor:descriptor options:only reflection:NULL error:&error] == nil);
}

static void test_constants(void) {
    MTLFunctionConstantValues *constants = [[[MTLFunctionConstantValues alloc] init] autorelease];
    int step = 7;
    [constants setConstantValue:&step type:MTLDataTypeInt atIndex:0];
    id<MTLFunction> seven = [[library newFunctionWithName:@"stepped" constantValues:constants error:NULL] autorelease];
    NSError *error = nil;
    NSArray *functions = [NSArray arrayWithObjects:seven, function_of(library, @"negative"), nil];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"call", functions, &error);
    CHECK(pipeline != nil);
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    CHECK(launch(pipeline, values, table_of(pipeline, 2, functions), 0) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(((int *)[values contents])[i] == (i % 2 == 0 ? i + 7 : -i));
    CHECK(linked_pipeline(@"call", [NSArray arrayWithObject:function_of(library, @"stepped")], &error) == nil);
    CHECK(contains([error localizedDescription], @"function constant 'pace' (index 0) has no value"));
}

static void test_mistakes(void) {
    id<MTLFunction> doubled = function_of(library, @"doubled"), half_of = function_of(library, @"half_of");
    NSArray *functions = [NSArray arrayWithObjects:doubled, half_of, nil];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"chosen", functions, NULL);
    id<MTLComputePipelineState> another = linked_pipeline(@"chosen", [NSArray arrayWithObject:doubled], NULL);
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 3, functions);
    id<MTLBuffer> values = [make_ints(COUNT, 1, 0) autorelease];
    CHECK(launch(pipeline, values, table, 0) == nil);
    CHECK(contains(launch(pipeline, values, table, 3),
                   @"kernel 'chosen': index 3 of the visible function table is not below its 3 functions, in line 16"));
    CHECK(contains(launch(pipeline, values, table, 2), @"the visible function table has no function at index 2"));
    CHECK(contains(launch(pipeline, values, table, 1),
                   @"function 'half_of' at index 1 of the visible function table is of type 'float (float)', and the "
                    "kernel calls one of type 'int (int)'"));
    CHECK(contains(launch(another, values, table, 0), @"the visible function table belongs to another pipeline"));
    CHECK([pipeline functionHandleWithFunction:function_of(library, @"same")] == nil);
    CHECK(function_of(library, @"hidden") == nil);
    CHECK_RAISES("index 3 is not below the table's functionCount 3", [table setFunction:nil atIndex:3]);
    CHECK_RAISES("is of another pipeline than the table",
                 [table setFunction:[another functionHandleWithFunction:doubled] atIndex:0]);
    CHECK_RAISES("is a kernel, and not a [[visible]] function",
                 linked_pipeline(@"call", [NSArray arrayWithObject:function_of(library, @"call")], NULL));
    CHECK_RAISES("is a [[visible]] function, and not a kernel", linked_pipeline(@"doubled", nil, NULL));
    [table setFunction:nil atIndex:0];
    CHECK(contains(launch(pipeline, values, table, 0), @"the visible function table has no function at index 0"));
}

/* A kernel that takes memory would write into the table. */
static void test_bindings_of_the_other_kind(void) {
    NSArray *functions = [NSArray arrayWithObject:function_of(library, @"doubled")];
    id<MTLComputePipelineState> memory = linked_pipeline(@"memory", functions, NULL);
    id<MTLVisibleFunctionTable> table = table_of(memory, 1, functions);
    id<MTLBuffer> values = [make_ints(COUNT, 1, 0) autorelease];
    CHECK(contains(launch(memory, values, table, 0),
                   @"argument more at index 1 is a buffer, and a visible function table is bound there"));
    NSString *error =
        launch_with(linked_pipeline(@"call", functions, NULL), values, ^(id<MTLComputeCommandEncoder> encoder) {
            [encoder setBuffer:values offset:0 atIndex:1];
            [encoder setBuffer:values offset:0 atIndex:2];
        });
    CHECK(contains(error, @"argument table at index 1 is a visible function table, and a buffer is bound there"));
}

/* What is passed has one size on both sides, whatever the types' names. */
static void test_names_of_several(void) {
    NSArray *functions = [NSArray arrayWithObject:function_of(library, @"overloaded")];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"chosen", functions, NULL);
    id<MTLBuffer> values = [make_ints(COUNT, 1, 0) autorelease];
    CHECK(launch(pipeline, values, table_of(pipeline, 1, functions), 0) == nil);
    CHECK(((int *)[values contents])[5] == 2);
    functions = [NSArray arrayWithObject:function_of(others, @"second")];
    pipeline = linked_pipeline(@"pairs", functions, NULL);
    CHECK(contains(launch(pipeline, values, table_of(pipeline, 1, functions), 0),
                   @"is of type 'int (Pair)', and the kernel calls one of type 'int (Pair)': the two sources have "
                    "types of other sizes by these names"));
    NSError *error = nil;
    NSString *twice = @"[[visible]] int f(int x);\n[[visible]] int f(float x);\n";
    CHECK([device newLibraryWithSource:twice options:nil error:&error] == nil);
    CHECK(contains([error localizedDescription], @"'f' is declared as [[visible]] with two types"));
}

static void test_argument_buffers(void) {
    NSArray *functions = [NSArray arrayWithObject:function_of(library, @"doubled")];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"nested", functions, NULL);
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 1, functions);
    id<MTLArgumentEncoder> arguments =
        [[function_of(library, @"nested") newArgumentEncoderWithBufferIndex:0] autorelease];
    id<MTLBuffer> values = [make_ints(COUNT, 0, 1) autorelease];
    id<MTLBuffer> storage = [[device newBufferWithLength:[arguments encodedLength] options:0] autorelease];
    [arguments setArgumentBuffer:storage offset:0];
    [arguments setVisibleFunctionTable:table atIndex:0];
    [arguments setBuffer:values offset:0 atIndex:1];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:storage offset:0 atIndex:0];
    [encoder useResource:table usage:MTLResourceUsageRead];
    [encoder useResource:values usage:MTLResourceUsageRead | MTLResourceUsageWrite];
    [encoder dispatchThreads:MTLSizeMake(COUNT, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK([buffer error] == nil);
    for (int i = 0; i < COUNT; i++) CHECK(((int *)[values contents])[i] == 2 * i);
}

static void test_private_functions(void) {
    NSError *error = nil;
    id<MTLFunction> cube = function_of(others, @"cube");
    id<MTLComputePipelineState> pipeline = privately_linked(@"named", [NSArray arrayWithObject:cube], &error);
    CHECK(pipeline != nil);
    if (pipeline == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    CHECK(launch(pipeline, values, nil, 0) == nil);
    for (int i = 0; i < COUNT; i++) CHECK(((int *)[values contents])[i] == i * i * i);
    CHECK([pipeline functionHandleWithFunction:cube] == nil);
    CHECK(privately_linked(@"named", nil, &error) == nil);
    CHECK(contains([error localizedDescription],
                   @"function 'cube' is declared as [[visible]] and called, but no function of this name is linked"));
    pipeline = privately_linked(@"misnamed", [NSArray arrayWithObject:function_of(others, @"lanes")], &error);
    CHECK(contains(launch(pipeline, values, nil, 0), @"the linked function 'lanes' is of type 'int (int)', and is "
                                                      "declared as of type 'float (int)'"));
}

static void test_reflection(void) {
    MTLComputePipelineReflection *reflection = nil;
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function_of(library, @"call")];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:MTLPipelineOptionBindingInfo
                                                                              reflection:&reflection
                                                                                   error:NULL];
    id<MTLBinding> table = [[reflection bindings] objectAtIndex:1];
    CHECK([[table name] isEqual:@"table"] && [table type] == MTLBindingTypeVisibleFunctionTable && [table index] == 1);
    CHECK([[[reflection bindings] objectAtIndex:0] type] == MTLBindingTypeBuffer);
    [pipeline release];
}

static void test_facts(void) {
    id<MTLComputePipelineState> pipeline =
        linked_pipeline(@"facts", [NSArray arrayWithObject:function_of(library, @"doubled")], NULL);
    id<MTLBuffer> values = [make_ints(COUNT, 9, 0) autorelease];
    const int *results = [values contents];
    CHECK(launch(pipeline, values, table_of(pipeline, 5, nil), 0) == nil);
    CHECK(results[0] == 0 && results[1] == 5 && results[2] == 0);
    CHECK([function_of(library, @"same") functionType] == MTLFunctionTypeVisible);
    CHECK([[library functionNames] containsObject:@"doubled"] && ![[library functionNames] containsObject:@"hidden"]);
}

static id<MTLLibrary> compile_source(NSString *text) {
    NSError *error = nil;
    id<MTLLibrary> made = [device newLibraryWithSource:text options:nil error:&error];
    if (made == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(made != nil);
    return made;
}

/* The same in a process that instruments kernels, and the functions that are linked with them. */
static void test_again(const char *name, const char *value) {
    const pid_t child = fork();
    if (child == 0) {
        setenv(name, value, 1);
        setenv("AGAIN", "1", 1);
        execl("/proc/self/exe", "function_tables", (char *)NULL);
        _exit(1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    const BOOL is_first = getenv("AGAIN") == NULL;
    if (is_first) {
        char profile[] = "/tmp/function-tables-XXXXXX";
        const int file = mkstemp(profile);
        CHECK(file >= 0);
        test_again("SOFTWARE_METAL_SANITIZE", "all");
        test_again("SOFTWARE_METAL_PROFILE", profile);
        (void)close(file);
        (void)unlink(profile);
    }
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        library = compile_source(table_source);
        others = compile_source(other_source);
        RUN(test_calls);
        RUN(test_callees_that_meet);
        RUN(test_callees_that_poll);
        RUN(test_handles_by_name);
        RUN(test_bindings);
        RUN(test_archives);
        RUN(test_constants);
        RUN(test_mistakes);
        /* Instrumentation changes nothing here. */
        if (is_first) RUN(test_bindings_of_the_other_kind);
        if (is_first) RUN(test_names_of_several);
        RUN(test_argument_buffers);
        RUN(test_private_functions);
        RUN(test_reflection);
        RUN(test_facts);
        [others release];
        [library release];
        [queue release];
        [device release];
    }
    return checks_report();
}
