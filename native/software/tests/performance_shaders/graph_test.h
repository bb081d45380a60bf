/* What the tests of graphs share. */
#ifndef SMTL_TESTS_GRAPH_TEST_H
#define SMTL_TESTS_GRAPH_TEST_H

#include "shaders_test.h"
#include <stdarg.h>

static const MPSDataType types[] = {MPSDataTypeFloat32, MPSDataTypeFloat16, MPSDataTypeBFloat16};
#define TYPES (sizeof types / sizeof types[0])

static inline NSUInteger count_of(NSArray *shape) {
    NSUInteger count = 1;
    for (NSNumber *length in shape) count *= [length unsignedLongValue];
    return count;
}

static inline MPSGraphTensorData *random_data(NSArray *shape, MPSDataType type) {
    return [[[MPSGraphTensorData alloc] initWithMTLBuffer:random_buffer(count_of(shape) * size_of(type), type)
                                                    shape:shape
                                                 dataType:type] autorelease];
}

/* The data's numbers, packed, for release_values. */
static inline double *values(MPSGraphTensorData *data) {
    const NSUInteger count = count_of([data shape]);
    void *bytes = malloc(count * size_of([data dataType]));
    double *numbers = malloc(count * sizeof *numbers);
    [[data mpsndarray] readBytes:bytes strideBytes:NULL];
    for (NSUInteger i = 0; i < count; i++) numbers[i] = load(bytes, [data dataType], i);
    free(bytes);
    return numbers;
}

static inline void release_values(double *a, double *b, double *c, double *d) {
    free(a);
    free(b);
    free(c);
    free(d);
}

/* Tensors with their data, nil at the end. */
static inline NSDictionary *feeds(MPSGraphTensor *first, ...) {
    NSMutableDictionary *dictionary = [NSMutableDictionary dictionary];
    va_list arguments;
    va_start(arguments, first);
    for (MPSGraphTensor *tensor = first; tensor != nil; tensor = va_arg(arguments, MPSGraphTensor *))
        [dictionary setObject:va_arg(arguments, MPSGraphTensorData *) forKey:tensor];
    va_end(arguments);
    return dictionary;
}

static inline NSDictionary *run_graph(MPSGraph *graph, NSDictionary *fed, NSArray *targets) {
    return [graph runWithMTLCommandQueue:queue feeds:fed targetTensors:targets targetOperations:nil];
}

#endif
