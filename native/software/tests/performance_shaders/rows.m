/* MPSMatrixSoftMax, MPSMatrixLogSoftMax and MPSMatrixFindTopK against float64. */
#include "shaders_test.h"

enum {
    ROWS = 7,
    COLUMNS = 53,
    ROW_NUMBERS = 60,
    MATRICES = 3
};

static MPSMatrix *make_matrix(id<MTLBuffer> buffer, MPSDataType type) {
    const NSUInteger row_bytes = ROW_NUMBERS * size_of(type);
    return [[[MPSMatrix alloc] initWithBuffer:buffer
                                   descriptor:[MPSMatrixDescriptor matrixDescriptorWithRows:ROWS columns:COLUMNS
                                                                                   matrices:MATRICES
                                                                                   rowBytes:row_bytes
                                                                                matrixBytes:ROWS * row_bytes
                                                                                   dataType:type]] autorelease];
}

static size_t numbers(void) { return MATRICES * ROWS * ROW_NUMBERS; }

static void check_softmax(Class class, MPSDataType type, BOOL logarithm, BOOL in_place) {
    id<MTLBuffer> source = random_buffer(numbers() * size_of(type), type);
    id<MTLBuffer> result = in_place ? source : random_buffer(numbers() * size_of(type), type);
    for (size_t i = 0; i < numbers(); i++) store([source contents], type, i, 30 * random_number());
    store([source contents], type, ROW_NUMBERS + 5, -INFINITY);
    void *before = malloc([source length]), *old = malloc([result length]);
    memcpy(before, [source contents], [source length]);
    memcpy(old, [result contents], [result length]);
    MPSMatrixSoftMax *kernel = [[[class alloc] initWithDevice:device] autorelease];
    [kernel setSourceMatrixOrigin:MTLOriginMake(1, 2, 0)];
    [kernel setResultMatrixOrigin:MTLOriginMake(1, 2, 0)];
    [kernel setSourceRows:4];
    [kernel setBatchStart:1];
    [kernel setBatchSize:1];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [kernel encodeToCommandBuffer:buffer inputMatrix:make_matrix(source, type) resultMatrix:make_matrix(result, type)];
    CHECK(runs(buffer));
    NSUInteger wrong = 0;
    for (size_t k = 0; k < MATRICES; k++) {
        for (size_t i = 0; i < ROWS; i++) {
            const size_t row = (k * ROWS + i) * ROW_NUMBERS;
            double sum = 0, largest = -INFINITY;
            for (size_t j = 2; j < COLUMNS; j++) largest = fmax(largest, load(before, type, row + j));
            for (size_t j = 2; j < COLUMNS; j++) sum += exp(load(before, type, row + j) - largest);
            for (size_t j = 0; j < ROW_NUMBERS; j++) {
                const BOOL computed = k == 1 && i >= 1 && i < 5 && j >= 2 && j < COLUMNS;
                const double x = load(before, type, row + j) - largest;
                const double value = computed ? (logarithm ? x - log(sum) : exp(x) / sum) : load(old, type, row + j);
                const double tolerance = computed ? rounding(type, value) + 0x1p-21 * fabs(value) + 0x1p-25 : 0;
                wrong += !is_close(load([result contents], type, row + j), value, tolerance);
            }
        }
    }
    CHECK(wrong == 0);
    free(before);
    free(old);
}

static void test_softmax(void) {
    for (int in_place = 0; in_place < 2; in_place++) {
        check_softmax([MPSMatrixSoftMax class], MPSDataTypeFloat32, NO, in_place);
        check_softmax([MPSMatrixSoftMax class], MPSDataTypeFloat16, NO, in_place);
        check_softmax([MPSMatrixLogSoftMax class], MPSDataTypeFloat32, YES, in_place);
        check_softmax([MPSMatrixLogSoftMax class], MPSDataTypeFloat16, YES, in_place);
    }
}

static void check_top_k(MPSDataType type, NSUInteger count) {
    id<MTLBuffer> source = random_buffer(numbers() * size_of(type), type);
    id<MTLBuffer> values = random_buffer(numbers() * size_of(type), type);
    id<MTLBuffer> indices = random_buffer(numbers() * sizeof(uint32_t), MPSDataTypeFloat32);
    /* Equal numbers, and what is not a number. */
    store([source contents], type, 20, 2);
    store([source contents], type, 10, 2);
    store([source contents], type, ROW_NUMBERS + 7, NAN);
    MPSMatrixFindTopK *kernel = [[[MPSMatrixFindTopK alloc] initWithDevice:device
                                                        numberOfTopKValues:count] autorelease];
    [kernel setSourceMatrixOrigin:MTLOriginMake(0, 3, 0)];
    [kernel setIndexOffset:3];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [kernel encodeToCommandBuffer:buffer inputMatrix:make_matrix(source, type)
                resultIndexMatrix:make_matrix(indices, MPSDataTypeUInt32)
                resultValueMatrix:make_matrix(values, type)];
    CHECK(runs(buffer));
    NSUInteger wrong = 0;
    for (size_t row = 0; row < numbers(); row += ROW_NUMBERS) {
        BOOL taken[COLUMNS] = {NO};
        for (size_t i = 0; i < count; i++) {
            size_t best = 0;
            for (size_t j = 3; j < COLUMNS; j++) {
                const double number = load([source contents], type, row + j);
                if (!taken[j] && (best == 0 || number > load([source contents], type, row + best)))
                    best = isnan(number) ? best : j;
            }
            taken[best] = YES;
            wrong += ((const uint32_t *)[indices contents])[row + i] != best;
            wrong += load([values contents], type, row + i) != load([source contents], type, row + best);
        }
    }
    CHECK(wrong == 0);
}

static void test_top_k(void) {
    check_top_k(MPSDataTypeFloat32, 16);
    check_top_k(MPSDataTypeFloat16, 5);
    check_top_k(MPSDataTypeFloat32, 1);
}

static void test_misuse(void) {
    MPSMatrix *floats = make_matrix(random_buffer(numbers() * 4, MPSDataTypeFloat32), MPSDataTypeFloat32);
    MPSMatrix *halves = make_matrix(random_buffer(numbers() * 4, MPSDataTypeFloat32), MPSDataTypeFloat16);
    MPSMatrix *integers = make_matrix(random_buffer(numbers() * 4, MPSDataTypeFloat32), MPSDataTypeUInt32);
    MPSMatrixSoftMax *softmax = [[[MPSMatrixSoftMax alloc] initWithDevice:device] autorelease];
    MPSMatrixFindTopK *top_k = [[[MPSMatrixFindTopK alloc] initWithDevice:device numberOfTopKValues:17] autorelease];
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
#define SOFTMAX(a, b) [softmax encodeToCommandBuffer:buffer inputMatrix:a resultMatrix:b]
#define TOP_K(a, b, c) [top_k encodeToCommandBuffer:buffer inputMatrix:a resultIndexMatrix:b resultValueMatrix:c]
    CHECK_RAISES("the result's type is Float16: it must be the input's, Float32", SOFTMAX(floats, halves));
    CHECK_RAISES("the input's type is UInt32", SOFTMAX(integers, floats));
    CHECK_RAISES("matrices must not be nil", SOFTMAX(floats, nothing));
    [softmax setSourceMatrixOrigin:MTLOriginMake(ROWS, 0, 0)];
    CHECK_RAISES("the source origin's row 7 is outside the input matrix, which has 7 rows", SOFTMAX(floats, floats));
    [softmax setSourceMatrixOrigin:MTLOriginMake(0, 0, 0)];
    [softmax setResultMatrixOrigin:MTLOriginMake(0, 1, 0)];
    CHECK_RAISES("53 columns from column 1 exceed the result matrix's 53 columns", SOFTMAX(floats, floats));
    CHECK_RAISES("numberOfTopKValues 17 is not between 1 and the lesser of 16", TOP_K(floats, integers, floats));
    CHECK_RAISES("the indices' type is Float32", TOP_K(floats, floats, floats));
    CHECK_RAISES("the values' type is Float16", TOP_K(floats, integers, halves));
    [top_k setNumberOfTopKValues:2];
    [top_k setIndexOffset:UINT32_MAX];
    CHECK_RAISES("leaves no room", TOP_K(floats, integers, floats));
    CHECK(runs(buffer));
#undef SOFTMAX
#undef TOP_K
}

int main(void) {
    @autoreleasepool {
        begin_tests();
        RUN(test_softmax);
        RUN(test_top_k);
        RUN(test_misuse);
        return end_tests();
    }
}
