/* What the tests of Metal Performance Shaders share: numbers of every type in buffers, and a command buffer that runs.
 */
#ifndef SMTL_TESTS_SHADERS_TEST_H
#define SMTL_TESTS_SHADERS_TEST_H

#include "framework_test.h"
#include <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>
#import <Foundation/NSDebug.h>
#include <math.h>
#include <stdlib.h>

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;
/* Where nil is wrong, and the compiler would say so. */
static id nothing;

static inline size_t size_of(MPSDataType type) { return (type & 0xffff) / 8; }

/* Without the compiler's own type, whose conversions need a library. */
static inline double from_bfloat(uint16_t stored) {
    const uint32_t bits = (uint32_t)stored << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline double load(const void *bytes, MPSDataType type, size_t index) {
    switch (type) {
    case MPSDataTypeFloat32: return ((const float *)bytes)[index];
    case MPSDataTypeFloat16: return (double)((const _Float16 *)bytes)[index];
    case MPSDataTypeBFloat16: return from_bfloat(((const uint16_t *)bytes)[index]);
    case MPSDataTypeInt8: return ((const int8_t *)bytes)[index];
    case MPSDataTypeInt16: return ((const int16_t *)bytes)[index];
    case MPSDataTypeUInt32: return ((const uint32_t *)bytes)[index];
    default: abort();
    }
}

static inline uint16_t to_bfloat(double value) {
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return isnan(number) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline void store(void *bytes, MPSDataType type, size_t index, double value) {
    switch (type) {
    case MPSDataTypeFloat32: ((float *)bytes)[index] = (float)value; return;
    case MPSDataTypeFloat16: ((_Float16 *)bytes)[index] = (_Float16)value; return;
    case MPSDataTypeBFloat16: ((uint16_t *)bytes)[index] = to_bfloat(value); return;
    case MPSDataTypeInt8: ((int8_t *)bytes)[index] = (int8_t)lrint(value * 20); return;
    case MPSDataTypeInt16: ((int16_t *)bytes)[index] = (int16_t)lrint(value * 200); return;
    default: abort();
    }
}

/* What a number may lose when it is rounded to the type: half of the distance to its neighbours, a bit more where they
 * are at different distances. */
static inline double rounding(MPSDataType type, double value) {
    const int bits = type == MPSDataTypeFloat16 ? 11 : type == MPSDataTypeBFloat16 ? 8 : 24;
    const double smallest = type == MPSDataTypeFloat16 ? 0x1p-25 : 0;
    return fmax(ldexp(fabs(value), -bits), smallest) * 1.001;
}

static uint64_t random_state = 1;
/* From -1 to 1. */
static inline double random_number(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)random_state * 0x1p-63;
}

/* A buffer of `bytes` bytes after `offset`, all of it filled with random numbers of the type. */
static inline id<MTLBuffer> random_buffer(size_t bytes, MPSDataType type) {
    id<MTLBuffer> buffer = [device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
    for (size_t i = 0; i < bytes / size_of(type); i++) store([buffer contents], type, i, random_number());
    return [buffer autorelease];
}

/* An array of numbers. */
#define SHAPE(...)                                                               \
    ({                                                                           \
        const int lengths_[] = {__VA_ARGS__};                                    \
        NSMutableArray *shape_ = [NSMutableArray array];                         \
        for (unsigned i_ = 0; i_ < sizeof lengths_ / sizeof lengths_[0]; i_++) { \
            [shape_ addObject:[NSNumber numberWithInt:lengths_[i_]]];            \
        }                                                                        \
        shape_;                                                                  \
    })

/* Commits and waits; whether it completed. */
static inline BOOL runs(id<MTLCommandBuffer> buffer) {
    [buffer commit];
    [buffer waitUntilCompleted];
    if ([buffer error] != nil) fprintf(stderr, "%s\n", [[[buffer error] localizedDescription] UTF8String]);
    return [buffer status] == MTLCommandBufferStatusCompleted;
}

static inline BOOL is_close(double value, double expected, double tolerance) {
    return fabs(value - expected) <= tolerance || (isnan(value) && isnan(expected)) || value == expected;
}

/* Objects of the classes that only these tests use: RUN counts none of them. */
static inline NSUInteger objects_left(void) {
    NSUInteger left = 0;
    for (Class *class = (Class *)GSDebugAllocationClassList(); *class != Nil; class ++) {
        const char *name = class_getName(*class);
        if (strncmp(name, "MPS", 3) == 0) left += (NSUInteger)GSDebugAllocationCount(*class);
    }
    return left;
}

static inline void begin_tests(void) {
    GSDebugAllocationActive(YES);
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
}

static inline int end_tests(void) {
    [queue release];
    [device release];
    CHECK(objects_left() == 0);
    return checks_report();
}

#endif
