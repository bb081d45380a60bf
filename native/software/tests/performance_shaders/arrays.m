/* MPSNDArray, its views, and MPSNDArrayMatrixMultiplication against float64. */
#include "shaders_test.h"

static MPSNDArray *make_array(NSArray *shape, MPSDataType type, BOOL packed, NSUInteger offset) {
    MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:type shape:shape];
    [descriptor setPreferPackedRows:packed];
    NSUInteger count = 1;
    for (NSNumber *length in shape) count *= [length unsignedLongValue];
    /* Rows of one number take 16 bytes. */
    return [[[MPSNDArray alloc] initWithBuffer:random_buffer(offset + count * 16 + 64, type) offset:offset
                                    descriptor:descriptor] autorelease];
}

static NSUInteger count_of(MPSNDArray *array) {
    NSUInteger count = 1;
    for (NSUInteger i = 0; i < [array numberOfDimensions]; i++) count *= [array lengthOfDimension:i];
    return count;
}

/* The array's numbers, packed. */
static double *values_of(MPSNDArray *array) {
    const NSUInteger count = count_of(array);
    void *bytes = malloc(count * [array dataTypeSize]);
    double *values = malloc(count * sizeof *values);
    [array readBytes:bytes strideBytes:NULL];
    for (NSUInteger i = 0; i < count; i++) values[i] = load(bytes, [array dataType], i);
    free(bytes);
    return values;
}

static void test_layout(void) {
    MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32
                                                                              shape:SHAPE(2, 3, 5)];
    CHECK([descriptor lengthOfDimension:0] == 5 && [descriptor lengthOfDimension:2] == 2);
    CHECK([descriptor lengthOfDimension:3] == 1 && [[descriptor getShape] isEqual:SHAPE(2, 3, 5)]);
    MPSNDArray *array = [[[MPSNDArray alloc] initWithDevice:device descriptor:descriptor] autorelease];
    CHECK([array userBuffer] == nil && [array resourceSize] >= 2 * 3 * 32 - 12);
    float numbers[30], read[30];
    for (int i = 0; i < 30; i++) numbers[i] = (float)i;
    [array writeBytes:numbers strideBytes:NULL];
    [array readBytes:read strideBytes:NULL];
    CHECK(memcmp(numbers, read, sizeof read) == 0);
    /* The fastest dimension of the memory given is the slowest of the array. */
    NSInteger strides[] = {6 * 4, 2 * 4, 4};
    [array readBytes:read strideBytes:strides];
    CHECK(read[1] == 15 && read[2] == 5 && read[6] == 1);

    [descriptor sliceDimension:0 withSubrange:(MPSDimensionSlice){1, 3}];
    [descriptor transposeDimension:0 withDimension:2];
    CHECK([[descriptor getShape] isEqual:SHAPE(3, 3, 2)] && [descriptor sliceRangeForDimension:2].start == 1);
    MPSNDArray *view = [array arrayViewWithDescriptor:descriptor];
    double *values = values_of(view);
    CHECK([view parent] == array && values[0] == 1 && values[1] == 16 && values[2] == 6 && values[6] == 2);
    free(values);
    [descriptor setDataType:MPSDataTypeFloat16];
    CHECK([array arrayViewWithDescriptor:descriptor] == nil);

    MPSNDArray *packed = make_array(SHAPE(4, 6), MPSDataTypeFloat32, YES, 8);
    double *all = values_of(packed);
    MPSNDArray *repeated = [packed arrayViewWithShape:SHAPE(2, 3, 5) strides:SHAPE(4, 0, 1)];
    values = values_of(repeated);
    CHECK(values[0] == all[0] && values[5] == all[0] && values[15] == all[4] && values[29] == all[8]);
    CHECK([packed arrayViewWithShape:SHAPE(5, 5) strides:SHAPE(5, 1)] == nil);
    CHECK([array arrayViewWithShape:SHAPE(5, 5) strides:SHAPE(5, 1)] == nil);
    free(values);
    free(all);

    MPSNDArray *scalar = [[[MPSNDArray alloc] initWithDevice:device scalar:2.5] autorelease];
    values = values_of(scalar);
    CHECK(count_of(scalar) == 1 && values[0] == 2.5);
    free(values);
}

/* A of [2, 1, 7, m] by B of [3, m, n], whose rows or columns may be the array's fastest dimension. */
static void check_product(MPSDataType type, MPSDataType result_type, NSUInteger sources, BOOL packed, BOOL transposed) {
    enum {
        BATCH = 2,
        HEADS = 3,
        ROWS = 7,
        INNER = 13,
        COLUMNS = 5
    };
    MPSNDArray *a = make_array(SHAPE(BATCH, 1, ROWS, INNER), type, packed, 16);
    MPSNDArray *b =
        make_array(transposed ? SHAPE(HEADS, COLUMNS, INNER) : SHAPE(HEADS, INNER, COLUMNS), type, packed, 2 * 4);
    if (transposed) {
        MPSNDArrayDescriptor *descriptor = [b descriptor];
        [descriptor transposeDimension:0 withDimension:1];
        b = [b arrayViewWithDescriptor:descriptor];
    }
    MPSNDArray *d = make_array(SHAPE(HEADS, 1, COLUMNS), type, packed, 0);
    MPSNDArrayMatrixMultiplication *kernel =
        [[[MPSNDArrayMatrixMultiplication alloc] initWithDevice:device sourceCount:sources] autorelease];
    [kernel setAlpha:0.5];
    [kernel setBeta:-2];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    NSArray *arrays = sources == 2 ? [NSArray arrayWithObjects:a, b, nil] : [NSArray arrayWithObjects:a, b, d, nil];
    MPSNDArray *result;
    if (result_type == type) {
        result = [kernel encodeToCommandBuffer:buffer sourceArrays:arrays];
    } else {
        result = make_array(SHAPE(BATCH, HEADS, ROWS, COLUMNS), result_type, !packed, 0);
        [kernel encodeToCommandBuffer:buffer sourceArrays:arrays destinationArray:result];
    }
    CHECK(runs(buffer));
    CHECK([[[result descriptor] getShape] isEqual:SHAPE(BATCH, HEADS, ROWS, COLUMNS)]);
    double *x = values_of(a), *y = values_of(b), *z = values_of(d), *values = values_of(result);
    NSUInteger wrong = 0;
    for (int i = 0; i < BATCH * HEADS * ROWS * COLUMNS; i++) {
        const int column = i % COLUMNS, row = i / COLUMNS % ROWS, head = i / COLUMNS / ROWS % HEADS;
        const int batch = i / COLUMNS / ROWS / HEADS;
        double sum = 0, size = 0;
        for (int k = 0; k < INNER; k++) {
            const double product = x[(batch * ROWS + row) * INNER + k] * y[(head * INNER + k) * COLUMNS + column];
            sum += product;
            size += fabs(product);
        }
        const double addend = sources == 3 ? -2 * z[head * COLUMNS + column] : 0, expected = 0.5 * sum + addend;
        const double tolerance = 20 * 0x1p-24 * (size + fabs(addend)) + rounding(result_type, expected);
        wrong += !is_close(values[i], expected, tolerance);
    }
    CHECK(wrong == 0);
    free(x);
    free(y);
    free(z);
    free(values);
}

static void test_products(void) {
    const MPSDataType types[][2] = {{MPSDataTypeFloat32, MPSDataTypeFloat32},
                                    {MPSDataTypeFloat16, MPSDataTypeFloat16},
                                    {MPSDataTypeBFloat16, MPSDataTypeBFloat16},
                                    {MPSDataTypeFloat16, MPSDataTypeFloat32},
                                    {MPSDataTypeBFloat16, MPSDataTypeFloat32}};
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
        for (int j = 0; j < 8; j++) check_product(types[i][0], types[i][1], j & 1 ? 2 : 3, j >> 1 & 1, j >> 2);
}

static void test_misuse(void) {
    id<MTLBuffer> memory = random_buffer(64, MPSDataTypeFloat32);
    CHECK_RAISES("exceed the buffer's length 64",
                 [[MPSNDArray alloc] initWithBuffer:memory offset:8
                                         descriptor:[MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32
                                                                                           shape:SHAPE(15)]]);
    CHECK_RAISES("length 0 of dimension 1", [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32
                                                                                   shape:SHAPE(3, 0)]);
    CHECK_RAISES("2^31 elements", [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32
                                                                         shape:SHAPE(1 << 16, 1 << 15)]);
    CHECK_RAISES("17 dimensions", [MPSNDArrayDescriptor
                                      descriptorWithDataType:MPSDataTypeFloat32
                                                       shape:SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)]);
    MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32
                                                                              shape:SHAPE(3, 4)];
    CHECK_RAISES("exceed the length 4", [descriptor sliceDimension:0 withSubrange:(MPSDimensionSlice){2, 3}]);
    CHECK_RAISES("dimension 2 is not below", [descriptor transposeDimension:0 withDimension:2]);
    id<MTLBuffer> private = [[device newBufferWithLength:64 options:MTLResourceStorageModePrivate] autorelease];
    MPSNDArray *unseen = [[[MPSNDArray alloc] initWithBuffer:private offset:0 descriptor:descriptor] autorelease];
    float number;
    CHECK_RAISES("private", [unseen readBytes:&number strideBytes:NULL]);
    CHECK_RAISES("neither 2 nor 3", [[MPSNDArrayMatrixMultiplication alloc] initWithDevice:device sourceCount:1]);
    MPSNDArrayMatrixMultiplication *kernel = [[[MPSNDArrayMatrixMultiplication alloc] initWithDevice:device
                                                                                         sourceCount:2] autorelease];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    MPSNDArray *a = make_array(SHAPE(2, 3), MPSDataTypeFloat32, YES, 0);
    MPSNDArray * (^encode)(MPSNDArray *, MPSNDArray *) = ^(MPSNDArray *left, MPSNDArray *right) {
        return [kernel encodeToCommandBuffer:buffer sourceArrays:[NSArray arrayWithObjects:left, right, nil]];
    };
    CHECK_RAISES("cannot be multiplied: 3 columns and 2 rows", encode(a, a));
    CHECK_RAISES("cannot be broadcast", encode(make_array(SHAPE(2, 2, 3), MPSDataTypeFloat32, YES, 0),
                                               make_array(SHAPE(3, 3, 2), MPSDataTypeFloat32, YES, 0)));
    CHECK_RAISES("the type of source 1 is Int8", encode(a, make_array(SHAPE(3, 2), MPSDataTypeInt8, YES, 0)));
    CHECK_RAISES("there are 1 source arrays: there must be 2",
                 [kernel encodeToCommandBuffer:buffer sourceArrays:[NSArray arrayWithObject:a]]);
    NSArray *good = [NSArray arrayWithObjects:a, make_array(SHAPE(3, 2), MPSDataTypeFloat32, YES, 0), nil];
    CHECK_RAISES("the destination's shape is not the product's, [2, 2]", [kernel encodeToCommandBuffer:buffer
                                                                                          sourceArrays:good
                                                                                      destinationArray:a]);
    CHECK(runs(buffer));
}

int main(void) {
    @autoreleasepool {
        begin_tests();
        RUN(test_layout);
        RUN(test_products);
        RUN(test_misuse);
        return end_tests();
    }
}
