/* What waits on dispatch queues: loops, groups, semaphores, once, timers. */
#include "framework_test.h"

#include <dispatch/dispatch.h>
#include <stdlib.h>

static dispatch_queue_t global(void) { return dispatch_get_global_queue(QOS_CLASS_USER_INITIATED, 0); }

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static void mark(void *context, size_t iteration) {
    __atomic_add_fetch(&((int *)context)[iteration], 1, __ATOMIC_RELAXED);
}

/* Runs a loop and checks that each iteration came once. */
static void check_loop(dispatch_queue_t queue, size_t iterations) {
    int *counts = calloc(iterations + 1, sizeof *counts);
    dispatch_apply_f(iterations, queue, counts, mark);
    size_t wrong = counts[iterations] != 0;
    for (size_t i = 0; i < iterations; i++) wrong += counts[i] != 1;
    CHECK(wrong == 0);
    free(counts);
}

static void test_loops_run_each_iteration_once(void) {
    dispatch_queue_t concurrent = dispatch_queue_create("loops", DISPATCH_QUEUE_CONCURRENT);
    for (size_t iterations = 0; iterations < 2000; iterations = iterations * 3 + 1) {
        check_loop(global(), iterations);
        check_loop(DISPATCH_APPLY_AUTO, iterations);
        check_loop(concurrent, iterations);
    }
    dispatch_release(concurrent);
}

static void test_loops_are_parallel(void) {
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1) return;
    /* Each of two iterations waits for the other. */
    dispatch_semaphore_t first = dispatch_semaphore_create(0), second = dispatch_semaphore_create(0);
    __block intptr_t late = 0;
    dispatch_apply(2, global(), ^(size_t i) {
        dispatch_semaphore_signal(i == 0 ? first : second);
        const intptr_t status = dispatch_semaphore_wait(
            i == 0 ? second : first, dispatch_time(DISPATCH_TIME_NOW, LONG_MS * (int64_t)NSEC_PER_MSEC));
        __atomic_add_fetch(&late, status, __ATOMIC_RELAXED);
    });
    CHECK(late == 0);
    dispatch_release(first);
    dispatch_release(second);
}

static void test_loops_on_serial_queues_keep_the_order(void) {
    dispatch_queue_t queue = dispatch_queue_create("serial loop", NULL);
    __block size_t next = 0;
    dispatch_apply(100, queue, ^(size_t i) {
        CHECK(i == next);
        next++;
    });
    CHECK(next == 100);
    dispatch_sync(queue, ^{
        CHECK_RAISES("\"serial loop\" and would wait for itself", dispatch_apply(1, queue, ^(size_t i) { (void)i; }));
    });
    dispatch_release(queue);
}

static void test_loops_within_loops_end(void) {
    dispatch_queue_t queue = dispatch_queue_create("nested", DISPATCH_QUEUE_CONCURRENT);
    for (int which = 0; which < 2; which++) {
        dispatch_queue_t target = which == 0 ? global() : queue;
        __block int count = 0;
        dispatch_group_t group = dispatch_group_create();
        for (int i = 0; i < 8; i++) {
            dispatch_group_async(group, global(), ^{
                dispatch_apply(6, target, ^(size_t outer) {
                    (void)outer;
                    dispatch_barrier_async(target, ^{ __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); });
                    dispatch_apply(5, target, ^(size_t inner) {
                        (void)inner;
                        dispatch_apply(4, target, ^(size_t innermost) {
                            (void)innermost;
                            __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
                        });
                    });
                });
            });
        }
        CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
        /* Barriers have no effect on the global queue, so this waits for their blocks. */
        for (int i = 0; i < LONG_MS && __atomic_load_n(&count, __ATOMIC_RELAXED) != 8 * 6 * 21; i++) usleep(1000);
        CHECK(__atomic_load_n(&count, __ATOMIC_RELAXED) == 8 * 6 * 21);
        dispatch_release(group);
    }
    dispatch_release(queue);
}

static void test_exceptions_end_loops(void) {
    dispatch_queue_t queue = dispatch_queue_create("serial", NULL);
    __block int count = 0;
    CHECK_RAISES("third", dispatch_apply(100, queue, ^(size_t i) {
                     if (i == 2) [NSException raise:NSGenericException format:@"third"];
                     count++;
                 }));
    CHECK(count == 2);
    /* With helpers, only the caller's iterations may raise: on another thread nobody would catch the exception. */
    const NSThread *caller = [NSThread currentThread];
    __block int inside = 0;
    __block BOOL has_begun = NO;
    CHECK_RAISES("caller", dispatch_apply(1000, global(), ^(size_t i) {
                     (void)i;
                     __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);
                     const BOOL is_caller = [NSThread currentThread] == caller;
                     if (is_caller) __atomic_store_n(&has_begun, YES, __ATOMIC_RELAXED);
                   /* The helpers leave the caller an iteration. */
                     while (!__atomic_load_n(&has_begun, __ATOMIC_RELAXED)) usleep(100);
                     __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
                     if (is_caller) [NSException raise:NSGenericException format:@"caller"];
                 }));
    CHECK(inside == 0);
    dispatch_sync(queue, ^{ count = 50; });
    CHECK(count == 50);
    dispatch_release(queue);
}

static void test_groups_wait_for_their_members(void) {
    dispatch_group_t group = dispatch_group_create();
    dispatch_semaphore_t gate = dispatch_semaphore_create(0);
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_NOW) == 0);
    __block int ran = 0, notified = 0;
    for (int i = 0; i < 10; i++) {
        dispatch_group_async(group, global(), ^{
            dispatch_semaphore_wait(gate, DISPATCH_TIME_FOREVER);
            __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
        });
    }
    dispatch_group_enter(group);
    dispatch_semaphore_t told = dispatch_semaphore_create(0);
    for (int i = 0; i < 2; i++) {
        dispatch_group_notify(group, global(), ^{
            __atomic_add_fetch(&notified, __atomic_load_n(&ran, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
            dispatch_semaphore_signal(told);
        });
    }
    const uint64_t start = now();
    CHECK(dispatch_group_wait(group, dispatch_time(DISPATCH_TIME_NOW, 20 * NSEC_PER_MSEC)) != 0);
    CHECK(now() - start >= 20 * NSEC_PER_MSEC);
    for (int i = 0; i < 10; i++) dispatch_semaphore_signal(gate);
    CHECK(dispatch_group_wait(group, dispatch_time(DISPATCH_TIME_NOW, 20 * NSEC_PER_MSEC)) != 0);
    dispatch_group_leave(group);
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0 && ran == 10);
    dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER);
    dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER);
    CHECK(__atomic_load_n(&notified, __ATOMIC_RELAXED) == 20);

    /* An empty group notifies at once, and once only. */
    dispatch_group_notify(group, global(), ^{ dispatch_semaphore_signal(told); });
    CHECK(dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER) == 0);
    CHECK_RAISES("nothing has entered", dispatch_group_leave(group));
    /* A group stays alive while something is in it. */
    dispatch_group_async(group, global(), ^{ usleep(1000); });
    dispatch_group_notify(group, global(), ^{ dispatch_semaphore_signal(told); });
    dispatch_release(group);
    CHECK(dispatch_semaphore_wait(told, DISPATCH_TIME_FOREVER) == 0);
    dispatch_release(told);
    dispatch_release(gate);
}

static void test_semaphores_count(void) {
    CHECK(dispatch_semaphore_create(-1) == nil);
    dispatch_semaphore_t semaphore = dispatch_semaphore_create(2);
    CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW) == 0);
    CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW) == 0);
    CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_NOW) != 0);
    CHECK(dispatch_semaphore_signal(semaphore) == 0 && dispatch_semaphore_signal(semaphore) == 0);
    /* Two threads at a time, however many wait. */
    __block int inside = 0, too_many = 0;
    dispatch_apply(200, global(), ^(size_t i) {
        (void)i;
        dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER);
        if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 2) __atomic_store_n(&too_many, 1, __ATOMIC_SEQ_CST);
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        dispatch_semaphore_signal(semaphore);
    });
    CHECK(too_many == 0);
    dispatch_release(semaphore);
}

static void test_once_is_once(void) {
    for (int round = 0; round < 50; round++) {
        dispatch_once_t predicate = 0, *address = &predicate;
        __block int runs = 0, early = 0;
        dispatch_apply(8, global(), ^(size_t i) {
            (void)i;
            dispatch_once(address, ^{
                usleep(100);
                runs++;
            });
          /* Every caller that returns sees what the block did. */
            if (runs != 1) __atomic_add_fetch(&early, 1, __ATOMIC_RELAXED);
        });
        CHECK(runs == 1 && early == 0);
    }
    static dispatch_once_t predicate;
    CHECK_RAISES("failed", dispatch_once(&predicate, ^{ [NSException raise:NSGenericException format:@"failed"]; }));
    __block int runs = 0;
    dispatch_once(&predicate, ^{
        runs++;
        CHECK_RAISES("called again", dispatch_once(&predicate, ^{ runs++; }));
    });
    dispatch_once(&predicate, ^{ runs++; });
    CHECK(runs == 1);
}

/* Whether all timers were submitted before the first was due: only then is their order certain. `unit` is in
 * milliseconds. */
static BOOL run_timers(int unit) {
    dispatch_queue_t queue = dispatch_queue_create("timers", NULL);
    dispatch_group_t group = dispatch_group_create();
    __block int order = 0;
    __block BOOL early = NO;
    const uint64_t start = now();
    const dispatch_time_t base = dispatch_time(DISPATCH_TIME_NOW, 0), wall = dispatch_walltime(NULL, 0);
    const int delays[] = {3, 1, 2};
    for (int i = 0; i < 3; i++) {
        const int delay = delays[i];
        dispatch_group_enter(group);
        const dispatch_time_t when = dispatch_time(i == 2 ? wall : base, delay * unit * (int64_t)NSEC_PER_MSEC);
        dispatch_after(when, queue, ^{
            order = order * 10 + delay;
          /* The wall clock may be set meanwhile; a millisecond is for its rounding. */
            early = early || now() - start + NSEC_PER_MSEC < (uint64_t)(delay * unit) * NSEC_PER_MSEC;
            dispatch_group_leave(group);
        });
    }
    const BOOL in_time = now() - start < (uint64_t)unit * NSEC_PER_MSEC;
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0);
    CHECK((order == 123 || !in_time) && !early);
    dispatch_release(group);
    dispatch_release(queue);
    return in_time;
}

static void test_timers_come_in_their_order(void) {
    int unit = 10;
    while (!run_timers(unit)) unit *= 2;
}

static void test_times_add_up(void) {
    CHECK(dispatch_time(DISPATCH_TIME_FOREVER, -5) == DISPATCH_TIME_FOREVER);
    CHECK(dispatch_time(DISPATCH_TIME_NOW, INT64_MAX) == DISPATCH_TIME_FOREVER);
    const dispatch_time_t later = dispatch_time(DISPATCH_TIME_NOW, NSEC_PER_SEC);
    CHECK(dispatch_time(later, 7) == later + 7 && dispatch_time(later, -7) == later - 7);
    CHECK(dispatch_time(later, INT64_MIN) < later);
    const struct timespec past = {1, 5};
    const dispatch_time_t moment = dispatch_walltime(&past, 10);
    CHECK(dispatch_time(moment, 1) == moment + 1);
    /* A wait until a moment in the past returns at once. */
    dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
    CHECK(dispatch_semaphore_wait(semaphore, moment) != 0);
    CHECK(dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, -5)) != 0);
    dispatch_release(semaphore);
}

int main(void) {
    @autoreleasepool {
        RUN(test_loops_run_each_iteration_once);
        RUN(test_loops_are_parallel);
        RUN(test_loops_on_serial_queues_keep_the_order);
        RUN(test_loops_within_loops_end);
        RUN(test_exceptions_end_loops);
        RUN(test_groups_wait_for_their_members);
        RUN(test_semaphores_count);
        RUN(test_once_is_once);
        RUN(test_timers_come_in_their_order);
        RUN(test_times_add_up);
    }
    return checks_report();
}
