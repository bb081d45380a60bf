/* How pipelines, tables and archives hold functions that kernels call, and how tables are bound. */
#include "function_tables.h"

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

static void test_bindings(void) {
    const int first = 0;
    NSArray *functions =
        [NSArray arrayWithObjects:function_of(library, @"doubled"), function_of(library, @"same"), nil];
    id<MTLComputePipelineState> pipeline = linked_pipeline(@"call", functions, NULL);
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 2, functions), none = nil;
    const id<MTLVisibleFunctionTable> *const given = &table, *const missing = &none;
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    CHECK(launch_with(pipeline, values, ^(id<MTLComputeCommandEncoder> encoder) {
              [encoder setVisibleFunctionTables:given withBufferRange:NSMakeRange(1, 1)];
              [encoder setBytes:&first length:sizeof first atIndex:2];
          }) == nil);
    CHECK(contains(launch_with(pipeline, values, ^(id<MTLComputeCommandEncoder> encoder) {
                       [encoder setVisibleFunctionTables:missing withBufferRange:NSMakeRange(1, 1)];
                       [encoder setBytes:&first length:sizeof first atIndex:2];
                   }), @"missing buffer binding at index 1 for table"));
    CHECK_RAISES("31", launch_with(pipeline, values, ^(id<MTLComputeCommandEncoder> encoder) {
                     [encoder setVisibleFunctionTable:table atBufferIndex:31];
                 }));
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

/* A command that inherits the encoder's buffers gets its tables too. */
static void test_inherited_bindings(void) {
    NSArray *functions = [NSArray arrayWithObject:function_of(library, @"doubled")];
    MTLLinkedFunctions *linked = [MTLLinkedFunctions linkedFunctions];
    [linked setFunctions:functions];
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:function_of(library, @"memory")];
    [descriptor setLinkedFunctions:linked];
    [descriptor setSupportIndirectCommandBuffers:YES];
    id<MTLComputePipelineState> pipeline = [[device newComputePipelineStateWithDescriptor:descriptor
                                                                                  options:MTLPipelineOptionNone
                                                                               reflection:NULL
                                                                                    error:NULL] autorelease];
    MTLIndirectCommandBufferDescriptor *inheriting = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
    [inheriting setCommandTypes:MTLIndirectCommandTypeConcurrentDispatchThreads];
    [inheriting setInheritBuffers:YES];
    id<MTLIndirectCommandBuffer> commands = [[device newIndirectCommandBufferWithDescriptor:inheriting maxCommandCount:1
                                                                                    options:0] autorelease];
    id<MTLIndirectComputeCommand> command = [commands indirectComputeCommandAtIndex:0];
    [command setComputePipelineState:pipeline];
    [command concurrentDispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    id<MTLVisibleFunctionTable> table = table_of(pipeline, 1, functions);
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
    [encoder setBuffer:[make_ints(COUNT, 0, 0) autorelease] offset:0 atIndex:0];
    [encoder setVisibleFunctionTable:table atBufferIndex:1];
    [encoder executeCommandsInBuffer:commands withRange:NSMakeRange(0, 1)];
    [encoder endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    CHECK(contains([[buffer error] localizedDescription],
                   @"a visible function table is bound where the kernel takes a buffer"));
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

static id<MTLFunction> constants_of(NSString *text, NSString *name, const int *first, const bool *second) {
    NSString *head = @"constant int c [[function_constant(0)]]; constant bool d [[function_constant(1)]];\n"
                      "constant int given = is_function_constant_defined(d) ? 100 : 0;\n";
    id<MTLLibrary> source = [[device newLibraryWithSource:[head stringByAppendingString:text] options:nil
                                                    error:NULL] autorelease];
    MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
    [values setConstantValue:first type:MTLDataTypeInt atIndex:0];
    if (second != NULL) [values setConstantValue:second type:MTLDataTypeBool atIndex:1];
    id<MTLFunction> function = [[source newFunctionWithName:name constantValues:values error:NULL] autorelease];
    CHECK(function != nil);
    return function;
}

/* Functions that are linked have the constants of one name and of one index each for themselves. */
static void test_constants(void) {
    const int one = 1, two = 2;
    const bool yes = true;
    id<MTLFunction> linked =
        constants_of(@"[[visible]] int constants() { return c + given; }", @"constants", &two, NULL);
    id<MTLFunction> kernel =
        constants_of(@"[[visible]] int constants(); kernel void both(device int *values [[buffer(0)]], uint i "
                      "[[thread_position_in_grid]]) { values[i] = constants() + 10 * (c + given); }",
                     @"both", &one, &yes);
    MTLLinkedFunctions *functions = [MTLLinkedFunctions linkedFunctions];
    [functions setPrivateFunctions:[NSArray arrayWithObject:linked]];
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:kernel];
    [descriptor setLinkedFunctions:functions];
    NSError *error = nil;
    id<MTLComputePipelineState> pipeline = [[device newComputePipelineStateWithDescriptor:descriptor
                                                                                  options:MTLPipelineOptionNone
                                                                               reflection:NULL
                                                                                    error:&error] autorelease];
    if (pipeline == nil) fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
    CHECK(pipeline != nil);
    id<MTLBuffer> values = [make_ints(COUNT, 0, 0) autorelease];
    CHECK(launch(pipeline, values, nil, 0) == nil);
    CHECK(((int *)[values contents])[0] == 2 + 10 * 101);
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

int main(void) {
    @autoreleasepool {
        begin_function_tables();
        RUN(test_handles_by_name);
        RUN(test_bindings);
        RUN(test_bindings_of_the_other_kind);
        RUN(test_inherited_bindings);
        RUN(test_archives);
        RUN(test_constants);
        RUN(test_argument_buffers);
        RUN(test_reflection);
        end_function_tables();
    }
    return checks_report();
}
