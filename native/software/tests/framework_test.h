/* What the framework's tests share: checks that count and say where they fail (a failing one does not end the program).
 */
#ifndef SMTL_TESTS_FRAMEWORK_TEST_H
#define SMTL_TESTS_FRAMEWORK_TEST_H

#import <Metal/Metal.h>
#include <SoftwareMetal/SoftwareMetal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned long checks_made;
static unsigned long checks_failed;

#define CHECK(...)                                                                          \
    do {                                                                                    \
        __atomic_fetch_add(&checks_made, 1, __ATOMIC_RELAXED);                              \
        if (!(__VA_ARGS__)) {                                                               \
            __atomic_fetch_add(&checks_failed, 1, __ATOMIC_RELAXED);                        \
            fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
        }                                                                                   \
    } while (0)

/* Prints the totals and returns the program's exit status. */
static inline int checks_report(void) {
    printf("%lu checks, %lu failed\n", checks_made, checks_failed);
    return checks_failed == 0 && checks_made > 0 ? 0 : 1;
}

/* Encodes with `encode` on a new command buffer of the queue, and waits. */
static inline id<MTLCommandBuffer> run_blits(id<MTLCommandQueue> queue,
                                             void (^encode)(id<MTLBlitCommandEncoder> encoder)) {
    id<MTLCommandBuffer> command_buffer = [queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [command_buffer blitCommandEncoder];
    encode(encoder);
    [encoder endEncoding];
    [command_buffer commit];
    [command_buffer waitUntilCompleted];
    CHECK([command_buffer status] == MTLCommandBufferStatusCompleted);
    return command_buffer;
}

/* Far longer than anything takes, on the busiest of machines. */
#define LONG_MS 120000

/* Checks that the statement raises an exception whose reason contains `text`. */
#define CHECK_RAISES(text, ...)                                                                                 \
    do {                                                                                                        \
        NSString *reason_ = nil;                                                                                \
        @try {                                                                                                  \
            __VA_ARGS__;                                                                                        \
        } @catch (NSException * exception_) {                                                                   \
            reason_ = [exception_ reason];                                                                      \
        }                                                                                                       \
        if (reason_ == nil || [reason_ rangeOfString:@text].location == NSNotFound) {                           \
            fprintf(stderr, "the reason is: %s\n", reason_ == nil ? "(nothing raised)" : [reason_ UTF8String]); \
        }                                                                                                       \
        CHECK(reason_ != nil && [reason_ rangeOfString:@text].location != NSNotFound);                          \
    } while (0)

/* Runs a test in a pool of its own and checks that it leaves no object alive. */
#define RUN(test)                                    \
    do {                                             \
        int64_t before_ = smtl_live_objects_total(); \
        @autoreleasepool {                           \
            test();                                  \
        }                                            \
        CHECK(settle(before_) == before_);           \
    } while (0)

/* The number of live objects, once other threads have had time to release theirs. */
static inline int64_t settle(int64_t expected) {
    for (int i = 0; i < 120000 && smtl_live_objects_total() != expected; i++) usleep(1000);
    return smtl_live_objects_total();
}

static inline BOOL all_bytes(const void *bytes, size_t length, uint8_t value) {
    const uint8_t *p = (const uint8_t *)bytes;
    for (size_t i = 0; i < length; i++)
        if (p[i] != value) return NO;
    return YES;
}

#endif
