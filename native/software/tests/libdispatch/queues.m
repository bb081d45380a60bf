/* Dispatch queues: order, barriers, waiting, the threads behind them, the main queue. */
#define _GNU_SOURCE
#include "framework_test.h"

#include <dispatch/dispatch.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static dispatch_queue_t global(void) { return dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0); }

/* GCC's runtime initialises a class at its first message. This is how its layout of a class begins, and the flag that
 * says that the class is initialised. */
struct class_layout {
    void *isa, *superclass;
    const char *name;
    long version;
    unsigned long flags;
};
#define IS_INITIALISED 4

static int initialised_classes(void) {
    Class classes[8192];
    const int count = objc_getClassList(classes, sizeof classes / sizeof classes[0]);
    int initialised = 0;
    for (int i = 0; i < count; i++)
        initialised += (((const struct class_layout *)classes[i])->flags & IS_INITIALISED) != 0;
    return initialised;
}

/* Two threads that initialise classes may wait for each other's locks (SMTLFoundation.m). So a queue's thread must have
 * no class left to initialise when it tells the main thread of a block. This test comes first, before other tests have
 * initialised classes. */
static void test_queues_have_initialised_what_their_threads_use(void) {
    __block int early = 0, late = -1;
    dispatch_semaphore_t told = dispatch_semaphore_create(0);
    dispatch_async(global(), ^{
        early = initialised_classes();
        dispatch_async(dispatch_get_main_queue(), ^{});
        late = initialised_classes();
        dispatch_semaphore_signal(told);
    });
    dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER);
    CHECK(early > 0 && early == late);
    dispatch_release(told);
}

static void test_serial_queues_keep_the_order(void) {
    enum {
        COUNT = 5000
    };
    dispatch_queue_t queue = dispatch_queue_create("serial", DISPATCH_QUEUE_SERIAL);
    __block int seen = 0, out_of_order = 0;
    for (int i = 0; i < COUNT; i++) {
        dispatch_async(queue, ^{
            out_of_order += seen != i;
            seen++;
        });
    }
    const pthread_t caller = pthread_self();
    __block BOOL here = NO;
    dispatch_sync(queue, ^{ here = pthread_equal(pthread_self(), caller); });
    CHECK(seen == COUNT && out_of_order == 0 && here);
    dispatch_release(queue);
}

static void test_threads_share_a_serial_queue(void) {
    enum {
        THREADS = 8,
        COUNT = 500
    };
    dispatch_queue_t queue = dispatch_queue_create("shared", NULL);
    /* Not atomic: the queue orders. Not __block: several threads would move it to the heap while others use it. */
    int total = 0, *counter = &total;
    dispatch_apply(THREADS, global(), ^(size_t thread) {
        (void)thread;
        for (int i = 0; i < COUNT; i++)
            if (i % 2)
                dispatch_async(queue, ^{ (*counter)++; });
            else
                dispatch_sync(queue, ^{ (*counter)++; });
    });
    __block int result = 0;
    dispatch_sync(queue, ^{ result = *counter; });
    CHECK(result == THREADS * COUNT);
    dispatch_release(queue);
}

static void test_barriers_run_alone(void) {
    dispatch_queue_t queue = dispatch_queue_create("concurrent", DISPATCH_QUEUE_CONCURRENT);
    const BOOL is_parallel = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    __block int inside = 0, beside_a_barrier = 0, written = 0, torn = 0;
    __block BOOL met = NO;
    for (int i = 0; i < 400; i++) {
        if (i % 20 == 19) {
            dispatch_barrier_async(queue, ^{
                beside_a_barrier += __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1;
                written++;
                __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
            });
        } else {
            dispatch_async(queue, ^{
                if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 1) __atomic_store_n(&met, YES, __ATOMIC_SEQ_CST);
                if (written != i / 20) __atomic_add_fetch(&torn, 1, __ATOMIC_SEQ_CST);
                /* The first block waits until another runs beside it. */
                while (is_parallel && !__atomic_load_n(&met, __ATOMIC_SEQ_CST)) usleep(100);
                __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
            });
        }
    }
    __block int barriers = 0;
    dispatch_barrier_sync(queue, ^{ barriers = written; });
    CHECK(barriers == 20 && beside_a_barrier == 0 && torn == 0);
    dispatch_release(queue);
}

static void test_waiting_for_other_queues(void) {
    dispatch_queue_t outer = dispatch_queue_create("outer", NULL);
    dispatch_queue_t inner = dispatch_queue_create("inner", NULL);
    __block int steps = 0;
    dispatch_sync(outer, ^{
        dispatch_sync(inner, ^{
            steps++;
            CHECK_RAISES("runs on the queue \"outer\" and would wait for itself",
                         dispatch_sync(outer, ^{ steps = 100; }));
        });
        CHECK_RAISES("\"outer\"", dispatch_barrier_sync(outer, ^{ steps = 100; }));
    });
    /* The pool's threads do the same, and there are more of them than processors. */
    dispatch_group_t group = dispatch_group_create();
    for (int i = 0; i < 40; i++)
        dispatch_group_async(group, global(), ^{ dispatch_sync(outer, ^{ dispatch_sync(inner, ^{ steps++; }); }); });
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0 && steps == 41);
    dispatch_release(group);
    dispatch_release(inner);
    dispatch_release(outer);
}

static void test_blocked_threads_are_made_up_for(void) {
    /* All blocks wait for the last. With a fixed number of threads it would never run. */
    enum {
        COUNT = 40
    };
    dispatch_semaphore_t gate = dispatch_semaphore_create(0);
    dispatch_group_t group = dispatch_group_create();
    for (int i = 0; i < COUNT; i++)
        dispatch_group_async(group, global(), ^{ dispatch_semaphore_wait(gate, DISPATCH_TIME_FOREVER); });
    dispatch_group_async(group, global(), ^{
        for (int i = 0; i < COUNT; i++) dispatch_semaphore_signal(gate);
    });
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);

    /* Nothing tells the pool of this waiting. It notices. */
    __block int open = 0;
    for (int i = 0; i < 12; i++) {
        dispatch_group_async(group, global(), ^{
            while (!__atomic_load_n(&open, __ATOMIC_ACQUIRE)) usleep(1000);
        });
    }
    dispatch_group_async(group, global(), ^{ __atomic_store_n(&open, 1, __ATOMIC_RELEASE); });
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
    dispatch_release(group);
    dispatch_release(gate);
}

static void count_up(void *context) { (*(int *)context)++; }

static void test_functions_in_place_of_blocks(void) {
    dispatch_queue_t queue = dispatch_queue_create("functions", DISPATCH_QUEUE_CONCURRENT);
    int count = 0;
    dispatch_barrier_async_f(queue, &count, count_up);
    dispatch_sync_f(queue, &count, count_up);
    dispatch_async_f(queue, &count, count_up);
    dispatch_barrier_sync_f(queue, &count, count_up);
    CHECK(count == 4);
    dispatch_release(queue);
}

static void test_queues_have_attributes(void) {
    dispatch_queue_attr_t attr =
        dispatch_queue_attr_make_with_qos_class(DISPATCH_QUEUE_CONCURRENT, QOS_CLASS_UTILITY, 0);
    dispatch_queue_t queue = dispatch_queue_create("labelled", attr);
    int relative = 1;
    CHECK(dispatch_queue_get_qos_class(queue, &relative) == QOS_CLASS_UTILITY && relative == 0);
    CHECK(strcmp(dispatch_queue_get_label(queue), "labelled") == 0);
    dispatch_assert_queue_not(queue);
    CHECK_RAISES("does not run on the queue \"labelled\"", dispatch_assert_queue(queue));
    CHECK(strcmp(dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL), "com.apple.main-thread") == 0);

    static const char key, other;
    int finalized = 0, *context = &finalized;
    dispatch_queue_set_specific(queue, &key, &finalized, count_up);
    dispatch_queue_set_specific(queue, &key, &finalized, count_up);
    CHECK(finalized == 1); /* the second call has replaced the context of the first */
    CHECK(dispatch_queue_get_specific(queue, &key) == &finalized && dispatch_get_specific(&key) == NULL);
    dispatch_sync(queue, ^{
        dispatch_assert_queue(queue);
        CHECK(strcmp(dispatch_queue_get_label(DISPATCH_CURRENT_QUEUE_LABEL), "labelled") == 0);
        dispatch_sync(global(),
                      ^{ CHECK(dispatch_get_specific(&key) == context && dispatch_get_specific(&other) == NULL); });
    });
    dispatch_release(queue);
    CHECK(finalized == 2);

    CHECK(dispatch_get_global_queue(QOS_CLASS_USER_INITIATED, 0) ==
          dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_HIGH, 0));
    CHECK(dispatch_get_global_queue(12345, 0) == nil);
    dispatch_release(global()); /* does nothing, as on Apple's systems */
    CHECK(dispatch_queue_get_qos_class(global(), NULL) == QOS_CLASS_DEFAULT);
}

static void signal_semaphore(void *semaphore) { dispatch_semaphore_signal(semaphore); }

static void test_the_finalizer_gets_the_context(void) {
    dispatch_semaphore_t gone = dispatch_semaphore_create(0);
    dispatch_queue_t queue = dispatch_queue_create(NULL, NULL);
    dispatch_set_context(queue, gone);
    dispatch_set_finalizer_f(queue, signal_semaphore);
    CHECK(dispatch_get_context(queue) == gone && strcmp(dispatch_queue_get_label(queue), "") == 0);
    dispatch_retain(queue);
    dispatch_release(queue);
    __block BOOL ran = NO;
    dispatch_async(queue, ^{
        usleep(1000);
        ran = YES;
    });
    dispatch_release(queue); /* what was submitted keeps it */
    CHECK(dispatch_semaphore_wait(gone, DISPATCH_TIME_FOREVER) == 0 && ran);
    dispatch_release(gone);
}

static void test_suspended_queues_wait(void) {
    dispatch_queue_t queue = dispatch_queue_create("suspended", DISPATCH_QUEUE_CONCURRENT);
    dispatch_semaphore_t ran = dispatch_semaphore_create(0);
    dispatch_suspend(queue);
    dispatch_suspend(queue);
    dispatch_async(queue, ^{ dispatch_semaphore_signal(ran); });
    dispatch_resume(queue);
    CHECK(dispatch_semaphore_wait(ran, dispatch_time(DISPATCH_TIME_NOW, 20 * NSEC_PER_MSEC)) != 0);
    dispatch_resume(queue);
    CHECK(dispatch_semaphore_wait(ran, DISPATCH_TIME_FOREVER) == 0);
    CHECK_RAISES("\"suspended\" is not suspended", dispatch_resume(queue));
    CHECK_RAISES("global queue is not suspended", dispatch_suspend(global()));
    CHECK_RAISES("only queues", dispatch_suspend(ran));
    dispatch_release(ran);
    dispatch_release(queue);
}

@interface Canary : NSObject {
@public
    int *_deaths;
}
@end

@implementation Canary
- (void)dealloc {
    __atomic_add_fetch(_deaths, 1, __ATOMIC_SEQ_CST);
    [super dealloc];
}
@end

static void test_blocks_run_in_pools(void) {
    dispatch_queue_t queue = dispatch_queue_create("pools", NULL);
    __block int deaths = 0;
    int *counter = &deaths;
    for (int i = 0; i < 10; i++) {
        Canary *captured = [[Canary alloc] init];
        captured->_deaths = counter;
        dispatch_async(queue, ^{
            Canary *canary = [[[Canary alloc] init] autorelease];
            canary->_deaths = captured->_deaths;
        });
        [captured release];
    }
    dispatch_sync(queue, ^{});
    for (int i = 0; i < LONG_MS && __atomic_load_n(counter, __ATOMIC_SEQ_CST) != 20; i++)
        usleep(1000); /* the last block's own pool */
    CHECK(__atomic_load_n(counter, __ATOMIC_SEQ_CST) == 20);
    dispatch_release(queue);
}

static void test_exceptions_reach_who_waits(void) {
    dispatch_queue_t queue = dispatch_queue_create("exceptions", NULL);
    CHECK_RAISES("on purpose", dispatch_sync(queue, ^{ [NSException raise:NSGenericException format:@"on purpose"]; }));
    __block BOOL usable = NO;
    dispatch_sync(queue, ^{ usable = YES; });
    CHECK(usable);
    dispatch_release(queue);
}

static void run_main_loop_until(int *flag) {
    for (int i = 0; i < LONG_MS / 10 && !__atomic_load_n(flag, __ATOMIC_ACQUIRE); i++)
        [[NSRunLoop currentRunLoop] runUntilDate:[NSDate dateWithTimeIntervalSinceNow:0.01]];
}

static void test_the_main_queue_runs_in_the_run_loop(void) {
    dispatch_queue_t queue = dispatch_get_main_queue();
    __block int done = 0;
    __block BOOL on_main = YES;
    int *flag = &done;
    dispatch_async(global(), ^{
        dispatch_sync(queue, ^{ on_main = on_main && [NSThread isMainThread]; });
        dispatch_async(queue, ^{
            on_main = on_main && [NSThread isMainThread];
            __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
        });
    });
    run_main_loop_until(flag);
    CHECK(done && on_main);
    CHECK_RAISES("would wait for itself", dispatch_sync(queue, ^{}));
}

/* Runs this program with an argument; its exit status, and what it wrote in `output`. */
static int run_self(const char *argument, char *output, size_t capacity) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    char *arguments[] = {(char *)"framework_dispatch", (char *)argument, NULL};
    pid_t child;
    CHECK(posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while (length < capacity - 1 && (got = read(ends[0], output + length, capacity - 1 - length)) > 0)
        length += (size_t)got;
    output[length] = 0;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void test_other_exceptions_end_the_process(void) {
    char output[4096];
    const int status = run_self("raise", output, sizeof output);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    CHECK(strstr(output, "nobody catches this") != NULL);
}

static void test_dispatch_main_runs_the_main_queue(void) {
    char output[4096];
    const int status = run_self("main", output, sizeof output);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* What the program does when run_self calls it. */
static int play(const char *part) {
    if (strcmp(part, "raise") == 0) {
        dispatch_async(global(), ^{ [NSException raise:NSGenericException format:@"nobody catches this"]; });
        sleep(20);
        return 0;
    }
    dispatch_after(dispatch_time(DISPATCH_TIME_NOW, NSEC_PER_MSEC), dispatch_get_main_queue(),
                   ^{ dispatch_async(dispatch_get_main_queue(), ^{ _exit([NSThread isMainThread] ? 7 : 8); }); });
    dispatch_main();
}

int main(int argc, char **argv) {
    if (argc > 1) return play(argv[1]);
    @autoreleasepool {
        RUN(test_queues_have_initialised_what_their_threads_use);
        RUN(test_serial_queues_keep_the_order);
        RUN(test_threads_share_a_serial_queue);
        RUN(test_barriers_run_alone);
        RUN(test_waiting_for_other_queues);
        RUN(test_blocked_threads_are_made_up_for);
        RUN(test_functions_in_place_of_blocks);
        RUN(test_queues_have_attributes);
        RUN(test_the_finalizer_gets_the_context);
        RUN(test_suspended_queues_wait);
        RUN(test_blocks_run_in_pools);
        RUN(test_exceptions_reach_who_waits);
        RUN(test_the_main_queue_runs_in_the_run_loop);
        RUN(test_other_exceptions_end_the_process);
        RUN(test_dispatch_main_runs_the_main_queue);
    }
    return checks_report();
}
