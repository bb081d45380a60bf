/* Graphs compiled once and encoded often, where results go, handlers, and misuse. */
#include "graph_test.h"

#include <spawn.h>
#include <sys/wait.h>

/* relu(a * w + b), with w and b constants. */
static MPSGraphTensor *make_layer(MPSGraph *graph, MPSGraphTensor *a, NSUInteger inner, NSUInteger columns) {
    id<MTLBuffer> numbers = random_buffer((inner + 1) * columns * 4, MPSDataTypeFloat32);
    NSData *w = [NSData dataWithBytes:[numbers contents] length:inner * columns * 4];
    NSData *b = [NSData dataWithBytes:(float *)[numbers contents] + inner * columns length:columns * 4];
    MPSGraphTensor *weights = [graph constantWithData:w shape:SHAPE((int)inner, (int)columns)
                                             dataType:MPSDataTypeFloat32];
    MPSGraphTensor *bias = [graph constantWithData:b shape:SHAPE((int)columns) dataType:MPSDataTypeFloat32];
    MPSGraphTensor *product = [graph matrixMultiplicationWithPrimaryTensor:a secondaryTensor:weights name:nil];
    MPSGraphTensor *sum = [graph additionWithPrimaryTensor:product secondaryTensor:bias name:nil];
    return [graph reLUWithTensor:sum name:nil];
}

static void test_executable(void) {
    MPSGraph *graph = [[MPSGraph new] autorelease];
    MPSGraphTensor *unused = [graph placeholderWithShape:SHAPE(1) dataType:MPSDataTypeFloat16 name:@"unused"];
    MPSGraphTensor *b = [graph placeholderWithShape:SHAPE(-1, 8) dataType:MPSDataTypeFloat32 name:@"b"];
    MPSGraphTensor *a = [graph placeholderWithShape:SHAPE(-1, 8) dataType:MPSDataTypeFloat32 name:@"a"];
    MPSGraphTensor *layer = make_layer(graph, make_layer(graph, a, 8, 6), 6, 5);
    MPSGraphTensor *sum = [graph additionWithPrimaryTensor:a secondaryTensor:b name:nil];
    MPSGraphShapedType *type = [[[MPSGraphShapedType alloc] initWithShape:SHAPE(3, 8)
                                                                 dataType:MPSDataTypeFloat32] autorelease];
    CHECK([type isEqualTo:[[type copy] autorelease]] && ![type isEqualTo:nil]);
    NSDictionary *types_of_feeds = [NSDictionary dictionaryWithObjectsAndKeys:type, a, type, b, nil];
    MPSGraphExecutable *executable = [graph compileWithDevice:[MPSGraphDevice deviceWithMTLDevice:device]
                                                        feeds:types_of_feeds
                                                targetTensors:[NSArray arrayWithObjects:layer, sum, nil]
                                             targetOperations:nil
                                        compilationDescriptor:nil];
    CHECK([[executable feedTensors] isEqual:[NSArray arrayWithObjects:b, a, nil]]);
    CHECK([[executable targetTensors] isEqual:[NSArray arrayWithObjects:layer, sum, nil]] && unused != nil);

    MPSGraphTensorData *x = random_data(SHAPE(3, 8), MPSDataTypeFloat32),
                       *y = random_data(SHAPE(3, 8), MPSDataTypeFloat32);
    NSArray *inputs = [NSArray arrayWithObjects:y, x, nil];
    NSArray *first = [executable runWithMTLCommandQueue:queue inputsArray:inputs resultsArray:nil
                                    executionDescriptor:nil];
    NSDictionary *second = run_graph(graph, feeds(a, x, b, y, nil), [NSArray arrayWithObject:layer]);
    double *p = values([first objectAtIndex:0]), *q = values([second objectForKey:layer]);
    CHECK(memcmp(p, q, 15 * sizeof *p) == 0);

    /* Into the caller's memory: with gaps, in a managed buffer. */
    id<MTLBuffer> managed = [[device newBufferWithLength:3 * 48 options:MTLResourceStorageModeManaged] autorelease];
    memset([managed contents], 1, 3 * 48);
    [managed didModifyRange:NSMakeRange(0, 3 * 48)];
    MPSGraphTensorData *wide = [[[MPSGraphTensorData alloc] initWithMTLBuffer:managed shape:SHAPE(3, 5)
                                                                     dataType:MPSDataTypeFloat32
                                                                     rowBytes:48] autorelease];
    MPSGraphTensorData *sums = random_data(SHAPE(3, 8), MPSDataTypeFloat32);
    __block int called = 0;
    MPSGraphExecutableExecutionDescriptor *descriptor =
        [[[MPSGraphExecutableExecutionDescriptor alloc] init] autorelease];
    [descriptor setCompletionHandler:^(NSArray *results, NSError *error) {
        called += [results objectAtIndex:0] == wide && error == nil;
    }];
    MPSCommandBuffer *buffer = [MPSCommandBuffer commandBufferFromCommandQueue:queue];
    NSArray *wanted = [NSArray arrayWithObjects:wide, sums, nil];
    CHECK([executable encodeToCommandBuffer:buffer inputsArray:inputs resultsArray:wanted
                        executionDescriptor:[[descriptor copy] autorelease]] == wanted);
    CHECK(runs(buffer) && called == 1);
    double *r = values(wide);
    CHECK(memcmp(p, r, 15 * sizeof *p) == 0);
    for (int row = 0; row < 3; row++) CHECK(all_bytes((uint8_t *)[managed contents] + row * 48 + 20, 28, 1));
    release_values(p, q, r, NULL);

    CHECK_RAISES("there are 1 inputs: the executable needs 2",
                 [executable encodeToCommandBuffer:buffer inputsArray:[NSArray arrayWithObject:x] resultsArray:nil
                               executionDescriptor:nil]);
    CHECK_RAISES("number 1 of the results is [3, 5] of Float32: the executable needs [3, 8] of Float32",
                 [executable encodeToCommandBuffer:buffer inputsArray:inputs
                                      resultsArray:[NSArray arrayWithObjects:wide, wide, nil]
                               executionDescriptor:nil]);
    CHECK_RAISES(
        "0 of the inputs is [4, 8] of Float32",
        [executable
            encodeToCommandBuffer:buffer
                      inputsArray:[NSArray arrayWithObjects:random_data(SHAPE(4, 8), MPSDataTypeFloat32), x, nil]
                     resultsArray:nil
              executionDescriptor:nil]);
}

static void test_graph_handlers(void) {
    MPSGraph *graph = [[MPSGraph new] autorelease];
    MPSGraphTensor *a = [graph placeholderWithShape:nil dataType:MPSDataTypeFloat16 name:@"a"];
    MPSGraphTensor *result = [graph reLUWithTensor:a name:nil];
    /* Rows of a matrix, vectors, and an array at an offset. */
    id<MTLBuffer> memory = random_buffer(1000, MPSDataTypeFloat16);
    MPSMatrix *matrix = [[[MPSMatrix alloc]
        initWithBuffer:memory
                offset:2
            descriptor:[MPSMatrixDescriptor matrixDescriptorWithRows:3 columns:4 matrices:2 rowBytes:10 matrixBytes:40
                                                            dataType:MPSDataTypeFloat16]] autorelease];
    MPSVector *vector = [[[MPSVector alloc]
        initWithBuffer:memory
                offset:4
            descriptor:[MPSVectorDescriptor vectorDescriptorWithLength:7 dataType:MPSDataTypeFloat16]] autorelease];
    MPSGraphTensorData *data[] = {[[[MPSGraphTensorData alloc] initWithMPSMatrix:matrix] autorelease],
                                  [[[MPSGraphTensorData alloc] initWithMPSVector:vector] autorelease]};
    CHECK([[data[0] shape] isEqual:SHAPE(2, 3, 4)] && [[data[1] shape] isEqual:SHAPE(7)]);
    CHECK([[data[0] device] metalDevice] == device && [[data[0] device] type] == MPSGraphDeviceTypeMetal);
    for (int i = 0; i < 2; i++) {
        __block int called = 0;
        MPSGraphTensorData *target = random_data([data[i] shape], MPSDataTypeFloat16);
        NSDictionary *results = [NSDictionary dictionaryWithObject:target forKey:result];
        MPSGraphExecutionDescriptor *descriptor = [[[MPSGraphExecutionDescriptor alloc] init] autorelease];
        [descriptor setCompletionHandler:^(NSDictionary *dictionary, NSError *error) {
            called += dictionary == results && error == nil;
        }];
        MPSCommandBuffer *buffer = [MPSCommandBuffer commandBufferFromCommandQueue:queue];
        [graph encodeToCommandBuffer:buffer feeds:feeds(a, data[i], nil) targetOperations:nil resultsDictionary:results
                 executionDescriptor:descriptor];
        CHECK(runs(buffer) && called == 1);
        double *p = values(data[i]), *q = values(target);
        NSUInteger wrong = 0;
        for (NSUInteger j = 0; j < count_of([target shape]); j++) wrong += q[j] != fmax(p[j], 0);
        CHECK(wrong == 0);
        release_values(p, q, NULL, NULL);
    }
}

static void test_misuse(void) {
    MPSGraph *graph = [[MPSGraph new] autorelease], *other = [[MPSGraph new] autorelease];
    MPSGraphTensor *a = [graph placeholderWithShape:SHAPE(2, 3) dataType:MPSDataTypeFloat32 name:@"a"];
    MPSGraphTensor *half = [graph placeholderWithShape:SHAPE(2, 3) dataType:MPSDataTypeFloat16 name:@"half"];
    MPSGraphTensor *whole = [graph placeholderWithShape:SHAPE(2, 3) dataType:MPSDataTypeInt32 name:@"whole"];
    MPSGraphTensor *alien = [other placeholderWithShape:SHAPE(2, 3) dataType:MPSDataTypeFloat32 name:@"alien"];
    MPSGraphTensor *open = [graph placeholderWithShape:nil dataType:MPSDataTypeFloat32 name:@"open"];
#define ADD(x, y) [graph additionWithPrimaryTensor:x secondaryTensor:y name:nil]
    CHECK_RAISES("the tensors' types differ: Float32 and Float16", ADD(a, half));
    CHECK_RAISES("a tensor's type is Int32", ADD(whole, whole));
    CHECK_RAISES("tensor 1 belongs to another graph", ADD(a, alien));
    CHECK_RAISES("tensors must not be nil", ADD(a, nothing));
    CHECK_RAISES("cannot be broadcast", ADD(a, [graph constantWithScalar:1 shape:SHAPE(2)
                                                                dataType:MPSDataTypeFloat32]));
    CHECK_RAISES("cannot be multiplied", [graph matrixMultiplicationWithPrimaryTensor:a secondaryTensor:a name:nil]);
    CHECK_RAISES("must have the 6 elements", [graph reshapeTensor:a withShape:SHAPE(4) name:nil]);
    CHECK_RAISES("axis 2 is not one of the 2 dimensions", [graph softMaxWithTensor:a axis:2 name:nil]);
    CHECK_RAISES("axis -3", [graph meanOfTensor:a axes:SHAPE(-3) name:nil]);
    CHECK_RAISES("dimensions 0 and 2", [graph transposeTensor:a dimension:0 withDimension:2 name:nil]);
    CHECK_RAISES("the mean of shape [2]", [graph normalizationWithTensor:a
                                                              meanTensor:[graph constantWithScalar:1 shape:SHAPE(2)
                                                                                          dataType:MPSDataTypeFloat32]
                                                          varianceTensor:a
                                                             gammaTensor:nil
                                                              betaTensor:nil
                                                                 epsilon:0
                                                                    name:nil]);
    CHECK_RAISES("must have 4 dimensions", [graph scaledDotProductAttentionWithQueryTensor:a keyTensor:a valueTensor:a
                                                                                     scale:1
                                                                                      name:nil]);
    CHECK_RAISES("data has 4 bytes: the shape needs 8", [graph constantWithData:[NSData dataWithBytes:"abc" length:4]
                                                                          shape:SHAPE(2)
                                                                       dataType:MPSDataTypeFloat32]);
    CHECK_RAISES("length -2", [graph placeholderWithShape:SHAPE(-2) dataType:MPSDataTypeFloat32 name:nil]);
    MPSGraphConvolution2DOpDescriptor *descriptor = [[[MPSGraphConvolution2DOpDescriptor alloc] init] autorelease];
    MPSGraphTensor *image = [graph placeholderWithShape:SHAPE(1, 4, 5, 5) dataType:MPSDataTypeFloat32 name:nil];
#define CONVOLVE(...)                                                                                             \
    [graph convolution2DWithSourceTensor:image weightsTensor:[graph constantWithScalar:1 shape:SHAPE(__VA_ARGS__) \
                                                                              dataType:MPSDataTypeFloat32]        \
                              descriptor:descriptor                                                               \
                                    name:nil]
    CHECK_RAISES("weights for 3 do not fit 1 groups", CONVOLVE(2, 3, 3, 3));
    CHECK_RAISES("weights that reach over 6 elements exceed the padded source's 5", CONVOLVE(2, 4, 6, 3));
    [descriptor setStrideInX:0];
    CHECK_RAISES("strideInX 0 is not between 1", CONVOLVE(2, 4, 3, 3));
    [descriptor setStrideInX:1];
    [descriptor setPaddingStyle:MPSGraphPaddingStyleExplicitOffset];
    CHECK_RAISES("paddingStyle 3", CONVOLVE(2, 4, 3, 3));
    [descriptor setPaddingStyle:MPSGraphPaddingStyleTF_SAME];
    [descriptor setWeightsLayout:MPSGraphTensorNamedDataLayoutNHWC];
    CHECK_RAISES("weightsLayout 1 is neither OIHW nor HWIO", CONVOLVE(2, 4, 3, 3));

    MPSGraphTensor *late = ADD(a, open);
    MPSGraphTensorData *x = random_data(SHAPE(2, 3), MPSDataTypeFloat32),
                       *y = random_data(SHAPE(2), MPSDataTypeFloat32);
    NSArray *target = [NSArray arrayWithObject:late];
    CHECK_RAISES("the placeholder \"open\" needs a feed", run_graph(graph, feeds(a, x, nil), target));
    CHECK_RAISES("cannot be broadcast", run_graph(graph, feeds(a, x, open, y, nil), target));
    CHECK_RAISES("the feed \"a\" has shape [2], which", run_graph(graph, feeds(a, y, open, x, nil), target));
    CHECK_RAISES("the feed \"a\" has type Float16",
                 run_graph(graph, feeds(a, random_data(SHAPE(2, 3), MPSDataTypeFloat16), open, x, nil), target));
    CHECK_RAISES("a target belongs to another graph",
                 run_graph(graph, feeds(a, x, nil), [NSArray arrayWithObject:alien]));
    CHECK_RAISES("commandQueue must not be nil", [graph runWithMTLCommandQueue:nothing feeds:feeds(a, x, nil)
                                                                 targetTensors:target
                                                              targetOperations:nil]);
    CHECK_RAISES("the buffer has 8 bytes",
                 [[MPSGraphTensorData alloc] initWithMTLBuffer:random_buffer(8, MPSDataTypeFloat32) shape:SHAPE(3)
                                                      dataType:MPSDataTypeFloat32]);
    CHECK_RAISES("rowBytes 8", [[MPSGraphTensorData alloc] initWithMTLBuffer:random_buffer(99, MPSDataTypeFloat32)
                                                                       shape:SHAPE(2, 3)
                                                                    dataType:MPSDataTypeFloat32
                                                                    rowBytes:8]);
    smtl_inject_allocation_failure(2);
    CHECK_RAISES("no memory",
                 run_graph(graph, feeds(a, random_data(SHAPE(2, 3), MPSDataTypeFloat32), open, x, nil), target));
    smtl_clear_injections();
#undef ADD
#undef CONVOLVE
}

/* In a process whose oneDNN is missing: an error of the command buffer, and what does without works. */
static void test_without_library(void) {
    MPSGraph *graph = [[MPSGraph new] autorelease];
    MPSGraphTensor *a = [graph placeholderWithShape:SHAPE(2, 2) dataType:MPSDataTypeFloat32 name:@"a"];
    MPSGraphTensor *product = [graph matrixMultiplicationWithPrimaryTensor:a secondaryTensor:a name:nil];
    MPSGraphTensor *relu = [graph reLUWithTensor:a name:nil];
    MPSGraphTensorData *x = random_data(SHAPE(2, 2), MPSDataTypeFloat32);
    MPSCommandBuffer *buffer = [MPSCommandBuffer commandBufferFromCommandQueue:queue];
    [graph encodeToCommandBuffer:buffer feeds:feeds(a, x, nil) targetTensors:[NSArray arrayWithObject:product]
                targetOperations:nil
             executionDescriptor:nil];
    [buffer commit];
    [buffer waitUntilCompleted];
    NSString *text = [[buffer error] localizedDescription];
    CHECK([buffer status] == MTLCommandBufferStatusError && [[buffer error] code] == MTLCommandBufferErrorInternal);
    CHECK([text rangeOfString:@"apt-get install libdnnl3 (Debian 13) or libdnnl2 (Debian 12)"].location != NSNotFound);
    CHECK([text rangeOfString:@"no-such-library.so"].location != NSNotFound);
    CHECK_RAISES("apt-get install", run_graph(graph, feeds(a, x, nil), [NSArray arrayWithObject:product]));
    CHECK([run_graph(graph, feeds(a, x, nil), [NSArray arrayWithObject:relu]) count] == 1);
}

static void test_missing_library(const char *program) {
    char *arguments[] = {(char *)program, (char *)"without", NULL};
    extern char **environ;
    pid_t child;
    int status = -1;
    setenv("SOFTWARE_METAL_DNNL", "no-such-library.so", 1);
    CHECK(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0 && waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    unsetenv("SOFTWARE_METAL_DNNL");
}

int main(int count, char **arguments) {
    @autoreleasepool {
        begin_tests();
        if (count > 1) {
            RUN(test_without_library);
            return end_tests();
        }
        test_missing_library(arguments[0]);
        RUN(test_executable);
        RUN(test_graph_handlers);
        RUN(test_misuse);
        return end_tests();
    }
}
