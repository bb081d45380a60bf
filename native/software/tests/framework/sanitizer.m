/* The sanitizer finds what planted/ has planted, on the lines that say so, and nothing else. */
#include "framework_kernels.h"

typedef struct {
    const char *file;
    uint32_t kinds; /* a bit for each smtl_report_kind that belongs there */
    NSUInteger ints, threads, threads_per_threadgroup, shared_ints;
} suite;

static const suite suites[] = {
    {"bounds", 1u << SMTL_REPORT_BOUNDS, 64, 64, 64, 32},
    /* Without a barrier, memory may be read before anything is written there. */
    {"race",
     1u << SMTL_REPORT_RACE | 1u << SMTL_REPORT_BARRIER | 1u << SMTL_REPORT_DEADLOCK | 1u << SMTL_REPORT_UNINITIALIZED,
     128, 128, 64, 64},
    {"uninit", 1u << SMTL_REPORT_UNINITIALIZED, 128, 128, 64, 64},
};

static unsigned bugs_planted, bugs_found, lines_right;

static NSString *planted_source(const char *name) {
    NSString *path = [NSString stringWithFormat:@"%s/planted/%s.metal", TEST_FOLDER, name];
    NSString *text = [NSString stringWithContentsOfFile:path encoding:NSUTF8StringEncoding error:NULL];
    CHECK(text != nil);
    return text;
}

static id<MTLLibrary> compile(NSString *text) {
    NSError *error = nil;
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:&error];
    if (library == nil) {
        fprintf(stderr, "%s\n", [[error localizedDescription] UTF8String]);
        exit(1);
    }
    return library;
}

/* Runs one kernel on fresh buffers; the command buffer's error. */
static NSError *run_kernel(id<MTLLibrary> library, NSString *name, const suite *with) {
    id<MTLComputePipelineState> pipeline = make_pipeline(library, name);
    id<MTLBuffer> a = make_ints(with->ints, 0, 1), b = make_ints(with->ints, 0, 1);
    const bool bounds = with == &suites[0];
    id<MTLBuffer> fresh = bounds ? make_ints(4, 0, 1)
                                 : [device newBufferWithLength:with->ints * sizeof(int)
                                                       options:MTLResourceStorageModeShared];
    if (!bounds)
        for (int i = 0; i < 8; i++) ((int *)[fresh contents])[i] = i;
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:64 << 10];
    [descriptor setStorageMode:bounds ? MTLStorageModePrivate : MTLStorageModeShared];
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    id<MTLBuffer> part =
        [heap newBufferWithLength:with->ints * sizeof(int)
                          options:bounds ? MTLResourceStorageModePrivate : MTLResourceStorageModeShared];
    if (with == &suites[1]) memset([part contents], 0, [part length]);
    [a setLabel:@"the first"];
    const uint32_t n = (uint32_t)with->ints;
    id<MTLCommandBuffer> commands = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:a offset:0 atIndex:0];
        [encoder setBuffer:b offset:0 atIndex:1];
        [encoder setBytes:&n length:sizeof n atIndex:2];
        [encoder setBuffer:fresh offset:0 atIndex:3];
        [encoder setBuffer:part offset:0 atIndex:4];
        [encoder setThreadgroupMemoryLength:with->shared_ints * sizeof(int) atIndex:0];
        [encoder setThreadgroupMemoryLength:32 atIndex:1];
        [encoder dispatchThreads:MTLSizeMake(with->threads, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(with->threads_per_threadgroup, 1, 1)];
    });
    for (id object in [NSArray arrayWithObjects:pipeline, a, b, fresh, part, heap, nil]) [object release];
    return [commands error];
}

static bool is_marked(NSArray *lines, uint32_t line) {
    return line > 0 && line <= [lines count] && [[lines objectAtIndex:line - 1] rangeOfString:@"// BUG"].length > 0;
}

/* Every report is one of the kernel on a marked line, and every marked line from `first` to `last` has a report. */
static void check_reports(const suite *with, NSString *kernel, NSArray *lines, NSUInteger first, NSUInteger last) {
    NSMutableIndexSet *found = [NSMutableIndexSet indexSet];
    for (size_t i = 0; i < smtl_report_count(); i++) {
        smtl_report *report = smtl_report_copy(i);
        const bool expected = (with->kinds >> report->kind & 1) &&
                              strcmp(report->access.kernel, [kernel UTF8String]) == 0 &&
                              (is_marked(lines, report->access.line) || is_marked(lines, report->other.line));
        if (!expected) fprintf(stderr, "unexpected: %s", report->text);
        CHECK(expected);
        [found addIndex:report->access.line];
        [found addIndex:report->other.line];
        smtl_report_free(report);
    }
    for (NSUInteger line = first; line <= last; line++) {
        if (!is_marked(lines, (uint32_t)line)) {
            lines_right++;
            continue;
        }
        bugs_planted++;
        bugs_found += [found containsIndex:line];
        if (![found containsIndex:line]) fprintf(stderr, "%s.metal:%lu: not found\n", with->file, (unsigned long)line);
        CHECK([found containsIndex:line]);
    }
}

static void test_suite(const suite *with) {
    NSString *text = planted_source(with->file);
    NSArray *lines = [text componentsSeparatedByString:@"\n"];
    id<MTLLibrary> library = compile(text);
    NSUInteger first = 1; /* helpers count with the kernel that follows */
    for (NSUInteger line = 1; line <= [lines count]; line++) {
        NSString *content = [lines objectAtIndex:line - 1];
        if (![content hasPrefix:@"kernel void "]) continue;
        NSString *name = [[[content substringFromIndex:12] componentsSeparatedByString:@"("] objectAtIndex:0];
        while (![[lines objectAtIndex:line - 1] hasPrefix:@"}"]) line++;
        smtl_reports_clear();
        NSError *error = run_kernel(library, name, with);
        const bool stops = with == &suites[0] || [name isEqual:@"spins"];
        CHECK((error != nil) == stops);
        check_reports(with, name, lines, first, line);
        first = line + 1;
    }
    [library release];
}

static void test_bounds(void) { test_suite(&suites[0]); }

static void test_races(void) { test_suite(&suites[1]); }

static void test_unwritten_memory(void) { test_suite(&suites[2]); }

/* Each variable counts once, in units of 16 bytes. */
static void test_threadgroup_memory(void) {
    id<MTLLibrary> library = compile(planted_source("uninit"));
    id<MTLComputePipelineState> pipeline = make_pipeline(library, @"choices");
    CHECK([pipeline staticThreadgroupMemoryLength] == 48);
    [pipeline release];
    [library release];
}

/* What a report says apart from the line. */
static void test_report(void) {
    id<MTLLibrary> library = compile(planted_source("bounds"));
    smtl_reports_clear();
    NSError *error = run_kernel(library, @"device_memory", &suites[0]);
    CHECK([error code] == MTLCommandBufferErrorPageFault);
    CHECK([[error localizedDescription] rangeOfString:@"the first"].length > 0);
    smtl_report *report = smtl_report_copy(0);
    CHECK(report->kind == SMTL_REPORT_BOUNDS && report->occurrences == 1 && !report->has_other);
    CHECK(strcmp(report->object, "the first") == 0 && report->argument == 0);
    CHECK(report->offset == 256 && report->length == 256);
    CHECK(report->access.size == 4 && !report->access.write && !report->access.atomic);
    CHECK(report->access.thread_position_in_grid[0] == 3 && report->access.thread_position_in_threadgroup[0] == 3);
    CHECK(strstr(report->text, "right behind buffer 'the first' (argument 0) of 256 bytes") != NULL);
    smtl_report_free(report);
    CHECK(smtl_report_copy(smtl_report_count()) == NULL);
    smtl_reports_clear();
    CHECK(run_kernel(library, @"tables_of_threads", &suites[0]) != nil);
    report = smtl_report_copy(0);
    CHECK(strstr(report->text, "right behind constant 'w' of 16 bytes") != NULL);
    smtl_report_free(report);
    smtl_reports_clear();
    CHECK(smtl_report_count() == 0);
    [library release];
}

/* --- Between dispatches ------------------------------------------------------------------------------------------- */

static NSString *const increments =
    @"#include <metal_stdlib>\nusing namespace metal;\n"
     "kernel void one(device int *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
     "    a[i] += 1;\n"
     "}\n";
static id<MTLComputePipelineState> increment;

static void encode_increment(id<MTLComputeCommandEncoder> encoder, id<MTLBuffer> buffer) {
    [encoder setComputePipelineState:increment];
    [encoder setBuffer:buffer offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
}

/* Two dispatches execute the increment on line 4. Returns the number of reports then. */
static size_t races_after(void (^commands)(void)) {
    smtl_reports_clear();
    @autoreleasepool {
        commands();
    }
    for (size_t i = 0; i < smtl_report_count(); i++) {
        smtl_report *report = smtl_report_copy(i);
        CHECK(report->kind == SMTL_REPORT_RACE && report->access.line == 4 && report->other.line == 4);
        CHECK(strstr(report->text, "unordered dispatches") != NULL);
        smtl_report_free(report);
    }
    return smtl_report_count();
}

static void encode_two(id<MTLCommandQueue> on, MTLDispatchType type, id<MTLBuffer> buffer, bool barrier) {
    id<MTLCommandBuffer> commands = [on commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDispatchType:type];
    encode_increment(encoder, buffer);
    if (barrier) [encoder memoryBarrierWithScope:MTLBarrierScopeBuffers];
    encode_increment(encoder, buffer);
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
}

static void test_concurrent_encoders(void) {
    id<MTLBuffer> a = make_ints(64, 0, 1);
    CHECK(races_after(^{ encode_two(queue, MTLDispatchTypeSerial, a, false); }) == 0);
    CHECK(races_after(^{ encode_two(queue, MTLDispatchTypeConcurrent, a, true); }) == 0);
    CHECK(races_after(^{ encode_two(queue, MTLDispatchTypeConcurrent, a, false); }) > 0);
    bugs_planted++;
    bugs_found++;
    [a release];
}

typedef enum {
    NOTHING,
    EVENT,
    WAIT_ON_CPU
} linked;

/* One dispatch on each of two queues, and what links them. */
static void on_two_queues(id<MTLBuffer> buffer, linked by) {
    id<MTLCommandQueue> other = [[device newCommandQueue] autorelease];
    id<MTLEvent> event = [[device newEvent] autorelease];
    id<MTLCommandBuffer> first = [queue commandBuffer], second = [other commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [first computeCommandEncoder];
    encode_increment(encoder, buffer);
    [encoder endEncoding];
    if (by == EVENT) {
        [first encodeSignalEvent:event value:1];
        [second encodeWaitForEvent:event value:1];
    }
    encoder = [second computeCommandEncoder];
    encode_increment(encoder, buffer);
    [encoder endEncoding];
    [first commit];
    if (by == WAIT_ON_CPU) [first waitUntilCompleted];
    [second commit];
    [first waitUntilCompleted];
    [second waitUntilCompleted];
}

static void test_two_queues(void) {
    id<MTLBuffer> a = make_ints(64, 0, 1), b = make_ints(64, 0, 1), c = make_ints(64, 0, 1);
    CHECK(races_after(^{ on_two_queues(a, EVENT); }) == 0);
    CHECK(races_after(^{ on_two_queues(b, WAIT_ON_CPU); }) == 0);
    CHECK(races_after(^{ on_two_queues(c, NOTHING); }) > 0);
    bugs_planted++;
    bugs_found++;
    [a release];
    [b release];
    [c release];
}

/* Two encoders of one queue. Metal orders them only for buffers that it tracks. */
static void in_two_encoders(id<MTLBuffer> buffer, bool fenced) {
    id<MTLFence> fence = [[device newFence] autorelease];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    for (int i = 0; i < 2; i++) {
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        if (fenced && i == 1) [encoder waitForFence:fence];
        encode_increment(encoder, buffer);
        if (fenced && i == 0) [encoder updateFence:fence];
        [encoder endEncoding];
    }
    [commands commit];
    [commands waitUntilCompleted];
}

/* What a tracked heap holds is tracked. */
static void test_untracked_buffers(void) {
    const MTLResourceOptions untracked = MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked;
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:256];
    [descriptor setResourceOptions:MTLResourceStorageModeShared | MTLResourceHazardTrackingModeTracked];
    id<MTLHeap> heap = [[device newHeapWithDescriptor:descriptor] autorelease];
    id<MTLBuffer> part = [[heap newBufferWithLength:256 options:MTLResourceStorageModeShared] autorelease];
    id<MTLBuffer> a = [make_ints(64, 0, 1) autorelease];
    id<MTLBuffer> b = [[device newBufferWithBytes:[a contents] length:256 options:untracked] autorelease];
    id<MTLBuffer> c = [[device newBufferWithBytes:[a contents] length:256 options:untracked] autorelease];
    memset([part contents], 0, 256);
    CHECK(races_after(^{ in_two_encoders(a, false); }) == 0);
    CHECK(races_after(^{ in_two_encoders(part, false); }) == 0);
    CHECK(races_after(^{ in_two_encoders(b, true); }) == 0);
    CHECK(races_after(^{ in_two_encoders(c, false); }) > 0);
    bugs_planted++;
    bugs_found++;
}

/* Bytes that a blit has filled count as written. Bytes that nobody has written stay so when a blit copies them. */
static void test_blits(void) {
    id<MTLBuffer> fresh = [device newBufferWithLength:256 options:MTLResourceStorageModeShared];
    id<MTLBuffer> copy = [device newBufferWithLength:256 options:MTLResourceStorageModeShared];
    for (int filled = 1; filled >= 0; filled--) {
        smtl_reports_clear();
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
        if (filled)
            [blit fillBuffer:copy range:NSMakeRange(0, 256) value:7];
        else
            [blit copyFromBuffer:fresh sourceOffset:0 toBuffer:copy destinationOffset:0 size:256];
        [blit endEncoding];
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        encode_increment(encoder, copy);
        [encoder endEncoding];
        [commands commit];
        [commands waitUntilCompleted];
        CHECK(smtl_report_count() == (filled ? 0 : 1));
    }
    bugs_planted++;
    bugs_found++;
    [fresh release];
    [copy release];
}

/* --- What is computed --------------------------------------------------------------------------------------------- */

/* Swizzles are computed in another way while the sanitizer watches: a bool is 0 or 1 there too. */
static void test_swizzles_of_bools(void) {
    id<MTLLibrary> library = compile(@"#include <metal_stdlib>\nusing namespace metal;\n"
                                      "kernel void swizzles(device uint4 *a [[buffer(0)]]) {\n"
                                      "    const bool4 all_true = bool4(uint4(a[0].y)), four = all_true.wzyx;\n"
                                      "    const bool2 two = all_true.yz;\n"
                                      "    const bool3 three = all_true.zyx;\n"
                                      "    bool4 written = bool4(false);\n"
                                      "    written.yw = two, written.x = all_true.y;\n"
                                      "    const bool2 of_packed = packed_bool4(all_true).xy;\n"
                                      "    a[0] = uint4(four);\n"
                                      "    a[1] = uint4(uint3(three), two.x);\n"
                                      "    a[2] = uint4(written);\n"
                                      "    a[3] = uint4(uint2(of_packed), two.y, all(two == bool2(true)));\n"
                                      "}\n");
    id<MTLComputePipelineState> pipeline = make_pipeline(library, @"swizzles");
    id<MTLBuffer> a = make_ints(16, 0, 1);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:a offset:0 atIndex:0];
        [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    });
    for (int i = 0; i < 16; i++) CHECK(((int *)[a contents])[i] == (i != 10));
    [a release];
    [pipeline release];
    [library release];
}

/* Metal leaves open what these give; elsewhere than on x86-64 the processor gives something. */
static void test_divisions(void) {
#if defined(__x86_64__)
    id<MTLLibrary> library = compile(@"#define K(name, value) kernel void name(device int *a [[buffer(0)]], "
                                      "uint i [[thread_position_in_grid]]) { if (i == 0) a[1] = value; }\n"
                                      "K(zero, 6 / a[0]) K(overflow, (a[1] << 31) / -a[1]) K(fine, 6 / -a[1])\n"
                                      "constant int none = 0;\n"
                                      "K(known, 6 / none) K(chosen, a[0] < 9 ? 6 % none : 7)\n"
                                      "K(unchosen, a[0] > 9 ? 6 % none : 7)\n"
                                      "typedef int pair __attribute__((ext_vector_type(2)));\n"
                                      "int second(int x) { const pair both = {1, x}; return both.y; }\n"
                                      "K(composed, second(a[1]))\n");
    for (NSString *name in [NSArray arrayWithObjects:@"zero", @"overflow", @"known", @"chosen", nil]) {
        NSError *error = run_kernel(library, name, &suites[0]);
        CHECK([error code] == MTLCommandBufferErrorInternal);
        CHECK([[error localizedDescription] rangeOfString:@"divided an integer by zero"].length > 0);
    }
    for (NSString *name in [NSArray arrayWithObjects:@"fine", @"unchosen", @"composed", nil])
        CHECK(run_kernel(library, name, &suites[0]) == nil);
    [library release];
#endif
}

int main(void) {
    setenv("SOFTWARE_METAL_SANITIZE", "all", 1);
    setenv("SOFTWARE_METAL_SANITIZE_QUIET", "1", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_bounds);
        RUN(test_races);
        RUN(test_unwritten_memory);
        RUN(test_threadgroup_memory);
        RUN(test_report);
        id<MTLLibrary> library = compile(increments);
        increment = make_pipeline(library, @"one");
        [library release];
        RUN(test_concurrent_encoders);
        RUN(test_two_queues);
        RUN(test_untracked_buffers);
        RUN(test_blits);
        RUN(test_swizzles_of_bools);
        RUN(test_divisions);
        [increment release];
        [queue release];
        [device release];
    }
    printf("%u bugs planted, %u found; %u lines without\n", bugs_planted, bugs_found, lines_right);
    return checks_report();
}
