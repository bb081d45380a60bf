/* Dispatch queues where the system gives no more threads. The program is linked with --wrap=pthread_create. */
#include "framework_test.h"

#include <dispatch/dispatch.h>
#include <errno.h>
#include <pthread.h>

static bool no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    return __atomic_load_n(&no_threads, __ATOMIC_SEQ_CST) ? EAGAIN
                                                          : __real_pthread_create(thread, attributes, run, argument);
}

static void let_threads_start(bool allowed) { __atomic_store_n(&no_threads, !allowed, __ATOMIC_SEQ_CST); }

static dispatch_queue_t global(void) { return dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0); }

static dispatch_time_t in_ms(int64_t milliseconds) {
    return dispatch_time(DISPATCH_TIME_NOW, milliseconds * (int64_t)NSEC_PER_MSEC);
}

@interface Mortal : NSObject {
@public
    int *_deaths;
}
@end

@implementation Mortal
- (void)dealloc {
    ++*_deaths;
    [super dealloc];
}
@end

/* There is no thread yet: everything runs on this one, before the call returns. */
static void test_without_threads(void) {
    let_threads_start(false);
    __block int deaths = 0, runs = 0;
    int *counter = &deaths;
    dispatch_async(global(), ^{
        Mortal *mortal = [[[Mortal alloc] init] autorelease];
        mortal->_deaths = counter;
    });
    CHECK(deaths == 1);
    for (int i = 1; i <= 3; i++) {
        dispatch_after(in_ms(5), global(), ^{ runs++; });
        CHECK(runs == i);
    }
    let_threads_start(true);
}

/* The pool has a thread, which waits for the timers and runs what comes due. */
static void test_with_the_threads_that_there_are(void) {
    dispatch_semaphore_t done = dispatch_semaphore_create(0);
    dispatch_async(global(), ^{ dispatch_semaphore_signal(done); });
    CHECK(dispatch_semaphore_wait(done, in_ms(LONG_MS)) == 0);
    let_threads_start(false);
    const bool *refused = &no_threads;
    for (int i = 1; i <= 3; i++) {
        dispatch_after(in_ms(20 * i), global(), ^{
            CHECK(__atomic_load_n(refused, __ATOMIC_SEQ_CST));
            dispatch_semaphore_signal(done);
        });
    }
    for (int i = 1; i <= 3; i++) CHECK(dispatch_semaphore_wait(done, in_ms(10000)) == 0);
    let_threads_start(true);
    dispatch_after(in_ms(5), global(), ^{ dispatch_semaphore_signal(done); });
    CHECK(dispatch_semaphore_wait(done, in_ms(LONG_MS)) == 0);
    dispatch_release(done);
}

int main(void) {
    RUN(test_without_threads);
    RUN(test_with_the_threads_that_there_are);
    return checks_report();
}
