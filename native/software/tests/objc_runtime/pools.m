/* Autorelease as on Apple's systems: what comes back autoreleased needs a pool, and without one GNUstep reports it and
 * the objects stay. */
#include "framework_test.h"
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

static id<MTLDevice> device;
static id<MTLCommandQueue> queue;

/* Makes and releases things on a thread that has no pool unless told to. */
static void *work(void *argument) {
    BOOL with_pool = argument != NULL;
    GSRegisterCurrentThread();
    NSAutoreleasePool *pool = with_pool ? [[NSAutoreleasePool alloc] init] : nil;
    for (int i = 0; i < 10; i++) {
        id<MTLBuffer> buffer = [device newBufferWithLength:64 options:0];
        id<MTLCommandBuffer> command_buffer = [queue commandBuffer];
        id<MTLBlitCommandEncoder> encoder = [command_buffer blitCommandEncoder];
        [encoder fillBuffer:buffer range:NSMakeRange(0, 64) value:1];
        [encoder endEncoding];
        [command_buffer commit];
        [command_buffer waitUntilCompleted];
        [buffer release];
    }
    [pool release];
    GSUnregisterCurrentThread();
    return NULL;
}

/* Runs `work` on a thread of its own. Returns how many reports of a missing pool it wrote to standard error. */
static int reports_of_work(BOOL with_pool) {
    char path[] = "/tmp/software-metal-pools-XXXXXX";
    int file = mkstemp(path);
    int saved = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    pthread_t thread;
    pthread_create(&thread, NULL, work, with_pool ? &with_pool : NULL);
    pthread_join(thread, NULL);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    NSString *text = [NSString stringWithContentsOfFile:[NSString stringWithUTF8String:path]
                                               encoding:NSUTF8StringEncoding
                                                  error:NULL];
    close(file);
    unlink(path);
    return (int)[[text componentsSeparatedByString:@"autorelease called without pool"] count] - 1;
}

static void test_with_pool(void) { CHECK(reports_of_work(YES) == 0); }

/* Nothing reports missing pools unless the environment asks for it, as on Apple's systems. */
static void test_quiet(void) {
    unsetenv("OBJC_DEBUG_MISSING_POOLS");
    CHECK(reports_of_work(NO) == 0);
    setenv("OBJC_DEBUG_MISSING_POOLS", "NO", 1);
    CHECK(reports_of_work(NO) == 0);
    setenv("OBJC_DEBUG_MISSING_POOLS", "YES", 1);
    CHECK(reports_of_work(NO) > 0);
}

static void test_without_pool(void) {
    int64_t before = smtl_live_objects_total();
    CHECK(reports_of_work(NO) >= 30);
    /* Ten command buffers, their encoders, and a marker for each buffer released. */
    CHECK(smtl_live_objects(SMTL_OBJECT_COMMAND_BUFFER) == 10);
    CHECK(smtl_live_objects(SMTL_OBJECT_BLIT_ENCODER) == 10);
    CHECK(smtl_live_objects(SMTL_OBJECT_RELEASE_MARKER) == 10);
    CHECK(smtl_live_objects_total() == before + 30);
}

/* One of everything that comes back as a string, an error, an array or an object. */
static void one_of_each(void) {
    NSError *error = nil;
    id<MTLBuffer> buffer = [device newBufferWithLength:64 options:0];
    [buffer setLabel:[device name]];
    [buffer label];
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:1024];
    id<MTLHeap> heap = [device newHeapWithDescriptor:descriptor];
    [[heap newBufferWithLength:64 options:MTLResourceStorageModePrivate] release];
    id<MTLSharedEvent> event = [device newSharedEvent];
    MTLSharedEventHandle *handle = [event newSharedEventHandle];
    [[device newFence] release];
    id<MTLCommandBuffer> command_buffer = [queue commandBuffer];
    [command_buffer setLabel:@"label"];
    [command_buffer addScheduledHandler:^(id<MTLCommandBuffer> handed) { [handed label]; }];
    [command_buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) {
        [[handed error] localizedDescription];
        [buffer label];
    }];
    [command_buffer encodeSignalEvent:event value:1];
    id<MTLComputeCommandEncoder> encoder = [command_buffer computeCommandEncoder];
    @try {
        [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    } @catch (NSException *exception) {
        [exception reason];
    }
    [encoder endEncoding];
    smtl_inject_command_buffer_error(1, MTLCommandBufferErrorInternal);
    [command_buffer commit];
    [command_buffer waitUntilCompleted];
    [[command_buffer error] localizedDescription];
    [device newLibraryWithFile:@"/nonexistent" error:&error];
    smtl_inject_compile_failure(1);
    [device newLibraryWithSource:@"" options:nil error:&error];
    NSArray *devices = MTLCopyAllDevices();
    [devices release];
    [handle release];
    [event release];
    [heap release];
    [buffer release];
}

/* No count has plain Foundation objects, so this looks at the size of the heap. */
static void test_growth(void) {
    enum {
        WARM = 500,
        ROUNDS = 3000
    };
    size_t before = 0;
    for (int i = 0; i < WARM + ROUNDS; i++) {
        if (i == WARM) before = mallinfo2().uordblks;
        @autoreleasepool {
            one_of_each();
        }
    }
    size_t after = mallinfo2().uordblks;
    /* One object for each round would be at least 48,000 bytes. */
    CHECK(after < before + 24000);
}

/* Many objects are made and released one after the other, each in a pool of its own: nothing grows. */
static void test_sequence(void) {
    for (int i = 0; i < 100000; i++) {
        @autoreleasepool {
            id<MTLBuffer> buffer = [device newBufferWithLength:64 options:0];
            [buffer release];
        }
    }
    CHECK(smtl_live_objects(SMTL_OBJECT_BUFFER) == 0);
}

/* --- The first pools of a process --------------------------------------------------------------------------------- */

enum {
    BEGINNERS = 4
};
static pthread_barrier_t all_ready;
extern char **environ;

static void *begin_with_pool(void *unused) {
    pthread_barrier_wait(&all_ready);
    /* As @autoreleasepool does in programs that are compiled for the newer runtime. */
    [[NSAutoreleasePool new] drain];
    return unused;
}

/* Every thread of this process begins with a pool, at the same time, and nothing came before. Foundation has not made
 * the process ignore SIGPIPE. */
static int begin_together(void) {
    pthread_t threads[BEGINNERS];
    struct sigaction pipes;
    sigaction(SIGPIPE, NULL, &pipes);
    if (pipes.sa_handler != SIG_DFL) return 1;
    pthread_barrier_init(&all_ready, NULL, BEGINNERS);
    for (int i = 0; i < BEGINNERS; i++) pthread_create(&threads[i], NULL, begin_with_pool, NULL);
    for (int i = 0; i < BEGINNERS; i++) pthread_join(threads[i], NULL);
    return 0;
}

/* Foundation's first pool is not safe to make on several threads: one process in six ended with a signal. */
static void test_threads_may_begin_with_pools(void) {
    char program[] = "/proc/self/exe", wish[] = "begin";
    char *arguments[] = {program, wish, NULL};
    for (int i = 0; i < 30; i++) {
        pid_t child = 0;
        int status = -1;
        CHECK(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0 && waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "begin") == 0) return begin_together();
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueueWithMaxCommandBufferCount:100];
        RUN(test_threads_may_begin_with_pools);
        RUN(test_with_pool);
        RUN(test_sequence);
        RUN(test_growth);
    }
    setenv("OBJC_DEBUG_MISSING_POOLS", "YES", 1);
    @autoreleasepool {
        test_without_pool();
        test_quiet();
    }
    return checks_report();
}
