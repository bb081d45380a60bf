/* Injected failures, armed by a call or by the environment of a process. They leave everything usable. */
#include "framework_kernels.h"
#include <spawn.h>
#include <sys/wait.h>

static id<MTLCommandBuffer> run_empty(id<MTLCommandQueue> on) {
    id<MTLCommandBuffer> buffer = [on commandBuffer];
    [buffer commit];
    [buffer waitUntilCompleted];
    return buffer;
}

/* Goes from a source to a result, with a heap: everything that has failed once still works. */
static void check_everything_works(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> pipeline = make_pipeline(library, @"add");
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setStorageMode:MTLStorageModeShared];
    [descriptor setSize:4096];
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    id<MTLBuffer> values = [heap newBufferWithLength:4096 options:MTLResourceStorageModeShared];
    CHECK(values != nil);
    memset([values contents], 0, 4096);
    int five = 5;
    id<MTLCommandBuffer> buffer = run(^(id<MTLComputeCommandEncoder> encoder) {
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder setBytes:&five length:sizeof five atIndex:1];
        [encoder dispatchThreads:MTLSizeMake(1024, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    });
    CHECK([buffer status] == MTLCommandBufferStatusCompleted && [buffer error] == nil && are_ints(values, 5, 0));
    [values release];
    [heap release];
    [pipeline release];
    [library release];
}

/* --- Armed by the environment ------------------------------------------------------------------------------------- */

static void environment_allocation(void) {
    id<MTLBuffer> first = [device newBufferWithLength:16 options:0];
    CHECK(first != nil && [device newBufferWithLength:16 options:0] == nil);
    CHECK([device currentAllocatedSize] == [first allocatedSize]);
    id<MTLBuffer> third = [device newBufferWithLength:16 options:0];
    CHECK(third != nil);
    [first release];
    [third release];
}

static void environment_command_buffer(void) {
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorOutOfMemory);
}

static void environment_command_buffer_without_code(void) {
    CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorInternal);
}

/* The library compiles and the first pipeline fails. The second pipeline compiles. */
static void environment_compile(void) {
    id<MTLLibrary> library = make_library();
    id<MTLFunction> function = [library newFunctionWithName:@"add"];
    NSError *error = nil;
    CHECK([device newComputePipelineStateWithFunction:function error:&error] == nil);
    CHECK([[error domain] isEqual:MTLLibraryErrorDomain] && [error code] == MTLLibraryErrorCompileFailure);
    CHECK([[error localizedDescription] isEqual:@"add: injected failure"]);
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    CHECK(pipeline != nil && error == nil);
    [pipeline release];
    [function release];
    [library release];
}

static void environment_device(void) {
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    for (int i = 0; i < 3; i++) {
        CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorDeviceRemoved);
        CHECK([device newBufferWithLength:16 options:0] == nil);
    }
    smtl_clear_injections();
}

static void environment_nonsense(void) {
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    id<MTLBuffer> buffer = [device newBufferWithLength:16 options:0];
    CHECK(buffer != nil);
    [buffer release];
}

static const struct {
    const char *setting; /* what the process finds in its environment */
    void (*test)(void);
} environments[] = {
    {"SOFTWARE_METAL_FAIL_ALLOCATION=2", environment_allocation},
    {"SOFTWARE_METAL_FAIL_COMMAND_BUFFER=3:8", environment_command_buffer},
    {"SOFTWARE_METAL_FAIL_COMMAND_BUFFER=0x3:0x8", environment_command_buffer},
    {"SOFTWARE_METAL_FAIL_COMMAND_BUFFER=1", environment_command_buffer_without_code},
    {"SOFTWARE_METAL_FAIL_COMPILE=2", environment_compile},
    {"SOFTWARE_METAL_LOSE_DEVICE=2", environment_device},
    {"SOFTWARE_METAL_FAIL_COMMAND_BUFFER=1:x", environment_nonsense},
    {"SOFTWARE_METAL_FAIL_COMMAND_BUFFER=1:", environment_nonsense},
    {"SOFTWARE_METAL_FAIL_COMMAND_BUFFER=-1", environment_nonsense},
    {"SOFTWARE_METAL_FAIL_ALLOCATION=one", environment_nonsense},
};
enum {
    ENVIRONMENTS = sizeof environments / sizeof environments[0]
};

extern char **environ;

/* Runs this program again in that environment, with the number as its argument. Whether all went well there. */
static BOOL passes_in(int number) {
    char argument[16];
    snprintf(argument, sizeof argument, "%d", number);
    char program[] = "/proc/self/exe";
    char *arguments[] = {program, argument, NULL};
    size_t count = 0;
    while (environ[count] != NULL) count++;
    char **settings = calloc(count + 2, sizeof *settings);
    memcpy(settings, environ, count * sizeof *settings);
    settings[count] = (char *)environments[number].setting;
    pid_t child = 0;
    int status = -1;
    const BOOL started = posix_spawn(&child, program, NULL, NULL, arguments, settings) == 0;
    free(settings);
    return started && waitpid(child, &status, 0) == child && status == 0;
}

/* --- Armed by calls ----------------------------------------------------------------------------------------------- */

static void test_allocation(void) {
    NSUInteger before = [device currentAllocatedSize];
    smtl_inject_allocation_failure(3);
    NSUInteger made = 0;
    for (int i = 0; i < 5; i++) {
        id<MTLBuffer> buffer = [device newBufferWithLength:100000 options:MTLResourceStorageModePrivate];
        made += buffer != nil;
        CHECK((buffer == nil) == (i == 2));
        [buffer release];
    }
    CHECK(made == 4 && [device currentAllocatedSize] == before);
}

static void test_command_buffer(void) {
    id<MTLBuffer> target = [device newBufferWithLength:4 options:0];
    smtl_inject_command_buffer_error(2, MTLCommandBufferErrorTimeout);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    __block NSInteger seen = 0;
    MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
    [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
    id<MTLCommandBuffer> buffer = [queue commandBufferWithDescriptor:descriptor];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    [encoder setLabel:@"fill"];
    [encoder insertDebugSignpost:@"here"];
    [encoder fillBuffer:target range:NSMakeRange(0, 4) value:1];
    [encoder endEncoding];
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) { seen = [[handed error] code]; }];
    [buffer commit];
    [buffer waitUntilCompleted];
    NSError *error = [buffer error];
    CHECK([buffer status] == MTLCommandBufferStatusError);
    CHECK([[error domain] isEqual:MTLCommandBufferErrorDomain] && [error code] == MTLCommandBufferErrorTimeout);
    CHECK([[error localizedDescription] rangeOfString:@"GPU Timeout"].location != NSNotFound);
    CHECK(seen == MTLCommandBufferErrorTimeout);
    CHECK(all_bytes([target contents], 4, 0));
    NSArray *infos = [[error userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
    CHECK([infos count] == 1);
    id<MTLCommandBufferEncoderInfo> info = [infos objectAtIndex:0];
    CHECK([[info label] isEqual:@"fill"] && [info errorState] == MTLCommandEncoderErrorStatePending);
    CHECK([[info debugSignposts] isEqual:[NSArray arrayWithObject:@"here"]]);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    [target release];
}

static void test_device_lost(void) {
    smtl_inject_device_loss(2);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorDeviceRemoved);
    CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorDeviceRemoved);
    CHECK([device newBufferWithLength:16 options:0] == nil);
    smtl_clear_injections();
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    id<MTLBuffer> buffer = [device newBufferWithLength:16 options:0];
    CHECK(buffer != nil);
    [buffer release];
}

/* Everything else that takes memory: a heap, a buffer in it, for which the heap still has room afterwards, and a list
 * of commands. */
static void test_other_allocations(void) {
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:1 << 16];
    smtl_inject_allocation_failure(1);
    CHECK([device newHeapWithDescriptor:descriptor] == nil && [device currentAllocatedSize] == 0);
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    smtl_inject_allocation_failure(1);
    CHECK([heap newBufferWithLength:1 << 16 options:MTLResourceStorageModePrivate] == nil && [heap usedSize] == 0);
    id<MTLBuffer> buffer = [heap newBufferWithLength:1 << 16 options:MTLResourceStorageModePrivate];
    CHECK(buffer != nil && [heap usedSize] == 1 << 16);
    MTLIndirectCommandBufferDescriptor *commands = [[[MTLIndirectCommandBufferDescriptor alloc] init] autorelease];
    [commands setCommandTypes:MTLIndirectCommandTypeConcurrentDispatch];
    smtl_inject_allocation_failure(1);
    CHECK([device newIndirectCommandBufferWithDescriptor:commands maxCommandCount:4 options:0] == nil);
    /* A deallocator is for memory that a buffer has taken over. */
    __block int calls = 0;
    static int memory[4];
    smtl_inject_allocation_failure(1);
    CHECK([device newBufferWithBytesNoCopy:memory length:sizeof memory options:0
                               deallocator:^(void *pointer, NSUInteger length) {
                                   calls += pointer == memory && length > 0;
                               }] == nil);
    CHECK(calls == 0);
    [buffer release];
    [heap release];
}

static void test_compile(void) {
    NSError *error = nil;
    smtl_inject_compile_failure(1);
    CHECK([device newLibraryWithSource:@"" options:nil error:&error] == nil);
    CHECK([[error domain] isEqual:MTLLibraryErrorDomain] && [error code] == MTLLibraryErrorCompileFailure);
    CHECK([[error localizedDescription] isEqual:@"injected failure"]);
    smtl_inject_compile_failure(1);
    CHECK([device newLibraryWithSource:@"" options:nil error:NULL] == nil);
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    smtl_inject_compile_failure(1);
    [device newLibraryWithSource:@"" options:nil completionHandler:^(id<MTLLibrary> library, NSError *problem) {
        CHECK(library == nil && [problem code] == MTLLibraryErrorCompileFailure);
        dispatch_semaphore_signal(done);
    }];
    CHECK(dispatch_semaphore_wait(done, dispatch_time(DISPATCH_TIME_NOW, LONG_MS * (int64_t)NSEC_PER_MSEC)) == 0);
    dispatch_release(done);
}

static int run_tests(int count, const char **arguments) {
    if (count > 1) {
        RUN(environments[atoi(arguments[1])].test);
        RUN(check_everything_works);
        return checks_failed == 0 ? 0 : 1;
    }
    for (int i = 0; i < ENVIRONMENTS; i++) {
        if (!passes_in(i)) {
            fprintf(stderr, "with %s:\n", environments[i].setting);
            CHECK(false);
        }
    }
    RUN(test_allocation);
    RUN(test_other_allocations);
    RUN(test_command_buffer);
    RUN(test_device_lost);
    RUN(test_compile);
    RUN(check_everything_works);
    return checks_report();
}

int main(int count, const char **arguments) {
    int status;
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        status = run_tests(count, arguments);
        [queue release];
    }
    return status;
}
