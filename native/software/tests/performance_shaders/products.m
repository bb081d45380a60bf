/* MPSMatrixMultiplication and MPSMatrixVectorMultiplication against float64. */
#include "shaders_test.h"

typedef struct {
    NSUInteger rows, columns, interior, matrices;
    BOOL transpose_left, transpose_right;
    double alpha, beta;
    MPSDataType input, result;
    NSUInteger padding; /* columns between rows, and rows between matrices */
    NSUInteger origin;  /* of each matrix, row and twice the column */
    NSUInteger batch_start;
} product_case;

/* Larger than the kernel's part by the origin. */
static MPSMatrix *make_matrix(NSUInteger rows, NSUInteger columns, MPSDataType type, const product_case *c) {
    const NSUInteger size = size_of(type), all_rows = rows + c->origin, all_columns = columns + 2 * c->origin;
    const NSUInteger row_bytes = (all_columns + c->padding) * size;
    const NSUInteger matrix_bytes = (all_rows + c->padding) * row_bytes, offset = c->padding * size;
    id<MTLBuffer> buffer = random_buffer(offset + c->matrices * matrix_bytes, type);
    MPSMatrixDescriptor *descriptor = [MPSMatrixDescriptor matrixDescriptorWithRows:all_rows columns:all_columns
                                                                           matrices:c->matrices
                                                                           rowBytes:row_bytes
                                                                        matrixBytes:matrix_bytes
                                                                           dataType:type];
    return [[[MPSMatrix alloc] initWithBuffer:buffer offset:offset descriptor:descriptor] autorelease];
}

static size_t index_of(MPSMatrix *matrix, NSUInteger k, NSUInteger row, NSUInteger column) {
    const size_t bytes = [matrix offset] + k * [matrix matrixBytes] + row * [matrix rowBytes];
    return bytes / size_of([matrix dataType]) + column;
}

static double element(MPSMatrix *matrix, const void *bytes, NSUInteger k, NSUInteger row, NSUInteger column) {
    return load(bytes, [matrix dataType], index_of(matrix, k, row, column));
}

static void check_product(product_case c) {
    MPSMatrix *left =
        make_matrix(c.transpose_left ? c.interior : c.rows, c.transpose_left ? c.rows : c.interior, c.input, &c);
    MPSMatrix *right = make_matrix(c.transpose_right ? c.columns : c.interior,
                                   c.transpose_right ? c.interior : c.columns, c.input, &c);
    MPSMatrix *result = make_matrix(c.rows, c.columns, c.result, &c);
    const size_t length = [[result data] length];
    void *before = malloc(length), *bytes = [[result data] contents];
    if (c.beta == 0)
        for (size_t i = 0; i < length / size_of(c.result); i++) store(bytes, c.result, i, NAN);
    memcpy(before, bytes, length);
    MPSMatrixMultiplication *kernel = [[[MPSMatrixMultiplication alloc] initWithDevice:device
                                                                         transposeLeft:c.transpose_left
                                                                        transposeRight:c.transpose_right
                                                                            resultRows:c.rows
                                                                         resultColumns:c.columns
                                                                       interiorColumns:c.interior
                                                                                 alpha:c.alpha
                                                                                  beta:c.beta] autorelease];
    const MTLOrigin origin = {c.origin, 2 * c.origin, 0};
    [kernel setLeftMatrixOrigin:origin];
    [kernel setRightMatrixOrigin:origin];
    [kernel setResultMatrixOrigin:origin];
    [kernel setBatchStart:c.batch_start];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [kernel encodeToCommandBuffer:buffer leftMatrix:left rightMatrix:right resultMatrix:result];
    CHECK(runs(buffer));

    NSUInteger wrong = 0;
    const void *a = [[left data] contents], *b = [[right data] contents];
    for (NSUInteger k = c.batch_start; k < c.matrices; k++) {
        for (NSUInteger i = 0; i < c.rows; i++) {
            for (NSUInteger j = 0; j < c.columns; j++) {
                double sum = 0, size = 0;
                for (NSUInteger l = 0; l < c.interior; l++) {
                    const double x = element(left, a, k, origin.x + (c.transpose_left ? l : i),
                                             origin.y + (c.transpose_left ? i : l));
                    const double y = element(right, b, k, origin.x + (c.transpose_right ? j : l),
                                             origin.y + (c.transpose_right ? l : j));
                    sum += x * y;
                    size += fabs(x * y);
                }
                const size_t at = index_of(result, k, origin.x + i, origin.y + j);
                double expected = c.alpha * sum;
                size *= fabs(c.alpha);
                if (c.beta != 0) {
                    expected += c.beta * load(before, c.result, at);
                    size += fabs(c.beta * load(before, c.result, at));
                }
                /* Sums are of floats; the result is rounded once. */
                const double tolerance = (double)(c.interior + 4) * 0x1p-24 * size + rounding(c.result, expected);
                wrong += !is_close(load(bytes, c.result, at), expected, tolerance);
                /* What is not the result must be as it was. */
                memcpy((char *)bytes + at * size_of(c.result), (char *)before + at * size_of(c.result),
                       size_of(c.result));
            }
        }
    }
    if (wrong > 0) {
        fprintf(stderr, "%lu wrong: %lu x %lu x %lu, transposed %d %d, types 0x%x 0x%x\n", (unsigned long)wrong,
                (unsigned long)c.rows, (unsigned long)c.columns, (unsigned long)c.interior, c.transpose_left,
                c.transpose_right, (unsigned)c.input, (unsigned)c.result);
    }
    CHECK(wrong == 0);
    CHECK(memcmp(before, bytes, length) == 0);
    free(before);
}

static void test_types_and_transposes(void) {
    const MPSDataType types[][2] = {{MPSDataTypeFloat32, MPSDataTypeFloat32},
                                    {MPSDataTypeFloat16, MPSDataTypeFloat16},
                                    {MPSDataTypeFloat16, MPSDataTypeFloat32},
                                    {MPSDataTypeInt8, MPSDataTypeFloat32},
                                    {MPSDataTypeInt16, MPSDataTypeFloat32}};
    const NSUInteger sizes[][3] = {{1, 1, 1}, {1, 37, 65}, {37, 1, 65}, {19, 23, 1}, {33, 17, 71}};
    for (unsigned type = 0; type < sizeof types / sizeof types[0]; type++) {
        for (unsigned size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
            for (int transposed = 0; transposed < 4; transposed++) {
                product_case c = {.rows = sizes[size][0],
                                  .columns = sizes[size][1],
                                  .interior = sizes[size][2],
                                  .matrices = 1 + (NSUInteger)(transposed % 3),
                                  .transpose_left = transposed & 1,
                                  .transpose_right = transposed >> 1,
                                  .alpha = transposed == 2 ? -0.5 : 1,
                                  .beta = transposed == 1 ? 0.75 : 0,
                                  .input = types[type][0],
                                  .result = types[type][1],
                                  .padding = size,
                                  .origin = size % 3};
                c.batch_start = c.matrices / 3;
                @autoreleasepool {
                    check_product(c);
                }
            }
        }
    }
}

/* More rows and columns than are converted at once. */
static void test_several_blocks(void) {
    for (int transposed = 0; transposed < 4; transposed += 3) {
        check_product((product_case){.rows = 523,
                                     .columns = 1031,
                                     .interior = 9,
                                     .matrices = 1,
                                     .alpha = 2,
                                     .beta = 1,
                                     .transpose_left = transposed & 1,
                                     .transpose_right = transposed >> 1,
                                     .input = MPSDataTypeFloat16,
                                     .result = MPSDataTypeFloat16});
    }
}

static void check_vector(BOOL transposed, MPSDataType type, NSUInteger vectors) {
    const NSUInteger rows = 29, columns = 43, size = size_of(type), vector_bytes = 50 * size;
    id<MTLBuffer> a = random_buffer(vectors * rows * columns * size, type);
    id<MTLBuffer> x = random_buffer(vectors * vector_bytes, type), y = random_buffer(vectors * vector_bytes, type);
    void *before = malloc([y length]);
    memcpy(before, [y contents], [y length]);
    MPSMatrix *matrix = [[[MPSMatrix alloc]
        initWithBuffer:a
            descriptor:[MPSMatrixDescriptor matrixDescriptorWithRows:transposed ? columns : rows
                                                             columns:transposed ? rows : columns
                                                            matrices:vectors
                                                            rowBytes:(transposed ? rows : columns) * size
                                                         matrixBytes:rows * columns * size
                                                            dataType:type]] autorelease];
    MPSVectorDescriptor *descriptor = [MPSVectorDescriptor vectorDescriptorWithLength:50 vectors:vectors
                                                                          vectorBytes:vector_bytes
                                                                             dataType:type];
    MPSVector *input = [[[MPSVector alloc] initWithBuffer:x descriptor:descriptor] autorelease];
    MPSVector *result = [[[MPSVector alloc] initWithBuffer:y descriptor:descriptor] autorelease];
    MPSMatrixVectorMultiplication *kernel = [[[MPSMatrixVectorMultiplication alloc] initWithDevice:device
                                                                                         transpose:transposed
                                                                                              rows:rows
                                                                                           columns:columns
                                                                                             alpha:3
                                                                                              beta:0.5] autorelease];
    [kernel setSecondarySourceMatrixOrigin:MTLOriginMake(7, 0, 0)];
    [kernel setResultMatrixOrigin:MTLOriginMake(3, 0, 0)];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [kernel encodeToCommandBuffer:buffer inputMatrix:matrix inputVector:input resultVector:result];
    CHECK(runs(buffer));
    NSUInteger wrong = 0;
    for (NSUInteger k = 0; k < vectors; k++) {
        for (NSUInteger i = 0; i < 50; i++) {
            const double old = load(before, type, k * 50 + i);
            double expected = old, size_of_sum = 0;
            if (i >= 3 && i < 3 + rows) {
                double sum = 0;
                for (NSUInteger j = 0; j < columns; j++) {
                    const NSUInteger at = transposed ? j * rows + i - 3 : (i - 3) * columns + j;
                    const double product =
                        load([a contents], type, k * rows * columns + at) * load([x contents], type, k * 50 + 7 + j);
                    sum += product;
                    size_of_sum += fabs(product);
                }
                expected = 3 * sum + 0.5 * old;
            }
            const double tolerance = 50 * 0x1p-24 * 3 * size_of_sum + rounding(type, expected);
            wrong += !is_close(load([y contents], type, k * 50 + i), expected, tolerance);
        }
    }
    CHECK(wrong == 0);
    free(before);
}

static void test_vectors(void) {
    for (int transposed = 0; transposed < 2; transposed++) {
        check_vector(transposed, MPSDataTypeFloat32, 1);
        check_vector(transposed, MPSDataTypeFloat16, 3);
    }
}

/* A copy of a kernel is one of its own. */
static void test_copies(void) {
    MPSMatrixMultiplication *kernel = [[MPSMatrixMultiplication alloc] initWithDevice:device resultRows:1
                                                                        resultColumns:1
                                                                      interiorColumns:1];
    [kernel setLabel:@"product"];
    [kernel setBatchStart:3];
    MPSMatrixMultiplication *copy = [kernel copy];
    [kernel setBatchStart:0];
    [kernel release];
    CHECK([copy batchStart] == 3 && [[copy label] isEqual:@"product"] && [copy device] == device);
    [copy release];
}

/* The commands of other encoders come before and after. */
static void test_order(void) {
    id<MTLBuffer> numbers = random_buffer(16 * sizeof(float), MPSDataTypeFloat32);
    id<MTLBuffer> result = random_buffer(16 * sizeof(float), MPSDataTypeFloat32);
    MPSMatrixDescriptor *descriptor = [MPSMatrixDescriptor matrixDescriptorWithRows:4 columns:4 rowBytes:16
                                                                           dataType:MPSDataTypeFloat32];
    MPSMatrix *a = [[[MPSMatrix alloc] initWithBuffer:numbers descriptor:descriptor] autorelease];
    MPSMatrix *c = [[[MPSMatrix alloc] initWithBuffer:result descriptor:descriptor] autorelease];
    MPSMatrixMultiplication *kernel = [[[MPSMatrixMultiplication alloc] initWithDevice:device resultRows:4
                                                                         resultColumns:4
                                                                       interiorColumns:4] autorelease];
    MPSCommandBuffer *buffer = [MPSCommandBuffer commandBufferFromCommandQueue:queue];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    [encoder fillBuffer:numbers range:NSMakeRange(0, 64) value:0];
    [encoder endEncoding];
    [kernel encodeToCommandBuffer:buffer leftMatrix:a rightMatrix:a resultMatrix:c];
    id<MTLCommandBuffer> first = [[[buffer rootCommandBuffer] retain] autorelease];
    [buffer commitAndContinue];
    CHECK([buffer rootCommandBuffer] != first && [buffer status] == MTLCommandBufferStatusNotEnqueued);
    encoder = [buffer blitCommandEncoder];
    [encoder copyFromBuffer:result sourceOffset:0 toBuffer:numbers destinationOffset:4 size:4];
    [encoder endEncoding];
    CHECK(runs(buffer) && [first status] == MTLCommandBufferStatusCompleted);
    CHECK(all_bytes([result contents], 64, 0) && all_bytes([numbers contents], 64, 0));
}

static void test_misuse(void) {
    id<MTLBuffer> memory = random_buffer(4096, MPSDataTypeFloat32);
    MPSMatrix * (^matrix)(NSUInteger, NSUInteger, NSUInteger, MPSDataType) =
        ^(NSUInteger rows, NSUInteger columns, NSUInteger row_bytes, MPSDataType type) {
            MPSMatrixDescriptor *descriptor = [MPSMatrixDescriptor matrixDescriptorWithRows:rows columns:columns
                                                                                   rowBytes:row_bytes
                                                                                   dataType:type];
            return [[[MPSMatrix alloc] initWithBuffer:memory offset:0 descriptor:descriptor] autorelease];
        };
    CHECK_RAISES("exceed the buffer's length 4096", matrix(65, 16, 64, MPSDataTypeFloat32));
    CHECK_RAISES("is less than 17 columns", matrix(2, 17, 64, MPSDataTypeFloat32));
    CHECK_RAISES("not a multiple of the element's 4 bytes", matrix(2, 3, 14, MPSDataTypeFloat32));
    CHECK_RAISES("must not be 0", matrix(0, 3, 16, MPSDataTypeFloat32));
    CHECK_RAISES("is not a type of whole bytes", matrix(2, 2, 16, MPSDataTypeInt4));
    CHECK_RAISES("more than there is memory for", matrix(NSUIntegerMax / 2, 4, 16, MPSDataTypeFloat32));
    CHECK_RAISES("descriptor must not be nil", [[MPSMatrix alloc] initWithBuffer:memory descriptor:nothing]);
    CHECK_RAISES("buffer must not be nil",
                 [[MPSVector alloc] initWithBuffer:nothing
                                        descriptor:[MPSVectorDescriptor vectorDescriptorWithLength:2
                                                                                          dataType:MPSDataTypeInt8]]);
    CHECK_RAISES("must not be 0", [[MPSMatrixMultiplication alloc] initWithDevice:device resultRows:2 resultColumns:0
                                                                  interiorColumns:1]);
    CHECK_RAISES("device must not be nil", [[MPSMatrixSoftMax alloc] initWithDevice:nothing]);
    MPSMatrixMultiplication *kernel = [[[MPSMatrixMultiplication alloc] initWithDevice:device resultRows:4
                                                                         resultColumns:4
                                                                       interiorColumns:4] autorelease];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    MPSMatrix *good = matrix(4, 4, 16, MPSDataTypeFloat32);
#define ENCODE(a, b, c) [kernel encodeToCommandBuffer:buffer leftMatrix:a rightMatrix:b resultMatrix:c]
    CHECK_RAISES("must not be nil", ENCODE(good, nothing, good));
    CHECK_RAISES("4 rows from row 0 exceed the left matrix's 3 rows",
                 ENCODE(matrix(3, 4, 16, MPSDataTypeFloat32), good, good));
    CHECK_RAISES("the input's type is UInt8", ENCODE(matrix(4, 4, 16, MPSDataTypeUInt8), good, good));
    CHECK_RAISES("the inputs' types differ", ENCODE(good, matrix(4, 4, 16, MPSDataTypeFloat16), good));
    CHECK_RAISES("the result's type is BFloat16", ENCODE(good, good, matrix(4, 4, 16, MPSDataTypeBFloat16)));
    [kernel setRightMatrixOrigin:MTLOriginMake(0, 1, 0)];
    CHECK_RAISES("4 columns from column 1 exceed the right matrix's 4 columns", ENCODE(good, good, good));
    [kernel setRightMatrixOrigin:MTLOriginMake(0, 0, 1)];
    CHECK_RAISES("z 1, which must be 0", ENCODE(good, good, good));
    [kernel setRightMatrixOrigin:MTLOriginMake(0, 0, 0)];
    [kernel setBatchStart:1];
    CHECK_RAISES("batchStart 1 is not below the number of matrices, 1", ENCODE(good, good, good));
    [kernel setBatchStart:0];
    [kernel setBatchSize:2];
    CHECK_RAISES("batchSize 2 from batchStart 0 exceeds", ENCODE(good, good, good));
    [kernel setBatchSize:1];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    CHECK_RAISES("already encoding", ENCODE(good, good, good));
    [encoder endEncoding];
    CHECK_RAISES("commandBuffer must not be nil", [kernel encodeToCommandBuffer:nothing leftMatrix:good rightMatrix:good
                                                                   resultMatrix:good]);
    CHECK(runs(buffer));
    CHECK_RAISES("already committed", ENCODE(good, good, good));
#undef ENCODE
}

int main(void) {
    @autoreleasepool {
        begin_tests();
        RUN(test_types_and_transposes);
        RUN(test_several_blocks);
        RUN(test_vectors);
        RUN(test_copies);
        RUN(test_order);
        RUN(test_misuse);
        return end_tests();
    }
}
