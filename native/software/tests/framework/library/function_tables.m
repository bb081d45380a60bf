/* Kernels that call functions through tables, and what goes wrong with them. */
#include "function_tables.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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
        begin_function_tables();
        RUN(test_calls);
        RUN(test_callees_that_meet);
        RUN(test_callees_that_poll);
        RUN(test_constants);
        RUN(test_mistakes);
        /* Instrumentation changes nothing here. */
        if (is_first) RUN(test_names_of_several);
        RUN(test_private_functions);
        RUN(test_facts);
        end_function_tables();
    }
    return checks_report();
}
