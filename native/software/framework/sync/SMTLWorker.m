#define _GNU_SOURCE /* pthread_setname_np */
#include "SMTLWorker.h"

#include "support/clock.h"
#include "support/settings.h"
#include "support/threads.h"

#import <Foundation/Foundation.h>
#include <objc/thr.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_CAPACITY 16 /* what Linux keeps of a thread's name */

struct smtl_worker {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    smtl_work *first;
    smtl_work **last;
    bool released;
    /* Counts what was posted, and the release. A thread that has nothing to do looks at it before it sleeps. */
    _Atomic uint64_t posted;
    bool looks_out;
    char name[NAME_CAPACITY];
};

/* GCC's runtime counts the threads that it is told of. As long as it knows of one alone, it frees dispatch tables that
 * it has replaced at once, while other threads may be reading them; GNUstep tells it of none. */
__attribute__((constructor)) static void tell_runtime_of_threads(void) { objc_thread_add(); }

/* A program that commits one small piece after another would wake the thread for each, which takes longer than the
 * work, and puts the thread on the program's core. So the thread looks out for more work for a while. Only one thread
 * does so at a time, since the last one that had work most likely gets more. */
static const uint64_t look_out_ns = 20000;
enum {
    LOOKS_BETWEEN_YIELDS = 100
};
static atomic_flag one_looks_out = ATOMIC_FLAG_INIT;

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Until more has been posted than `seen`, or a while is over. */
static void look_out(smtl_worker *worker, uint64_t seen) {
    if (!worker->looks_out || atomic_flag_test_and_set_explicit(&one_looks_out, memory_order_relaxed)) return;
    bool is_over = false;
    for (uint64_t end = smtl_now_ns() + look_out_ns; !is_over; is_over = is_over || smtl_now_ns() > end) {
        for (int i = 0; i < LOOKS_BETWEEN_YIELDS && !is_over; i++) {
            is_over = atomic_load_explicit(&worker->posted, memory_order_relaxed) != seen;
            pause_briefly();
        }
        if (!is_over) sched_yield();
    }
    atomic_flag_clear_explicit(&one_looks_out, memory_order_relaxed);
}

static smtl_work *next_work(smtl_worker *worker, uint64_t taken) {
    look_out(worker, taken);
    pthread_mutex_lock(&worker->mutex);
    while (worker->first == NULL && !worker->released) pthread_cond_wait(&worker->wake, &worker->mutex);
    smtl_work *work = worker->first;
    if (work != NULL) {
        worker->first = work->next;
        if (worker->first == NULL) worker->last = &worker->first;
    }
    pthread_mutex_unlock(&worker->mutex);
    return work;
}

static void run_in_pool(smtl_work *work) {
    @autoreleasepool {
        @try {
            work->run(work);
        } @catch (id exception) {
            /* Nobody catches the exception, as on a dispatch queue; but here the program goes on. */
            NSLog(@"software Metal: uncaught exception on a worker thread: %@", exception);
            /* Without memory the work is not done: whoever waits for it would wait for ever. */
            if ([exception isKindOfClass:[NSException class]] && [[exception name] isEqual:NSMallocException]) abort();
        }
    }
}

static void *worker_main(void *argument) {
    smtl_worker *worker = argument;
    pthread_setname_np(pthread_self(), worker->name);
    /* GNUstep must know a thread that it did not start, or Foundation fails on it. */
    GSRegisterCurrentThread();
    smtl_work *work;
    for (uint64_t taken = 0; (work = next_work(worker, taken)) != NULL; taken++) run_in_pool(work);
    /* Not inside a pool: it frees the thread's pools. */
    GSUnregisterCurrentThread();
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
    return NULL;
}

smtl_worker *smtl_worker_create(const char *name) {
    smtl_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) return NULL;
    strncpy(worker->name, name, NAME_CAPACITY - 1);
    worker->last = &worker->first;
    /* Not if polling keeps the program from its only core, and not if orders are to differ from the usual ones. */
    worker->looks_out = sysconf(_SC_NPROCESSORS_ONLN) > 1 && !smtl_settings_get()->shuffle.on;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->wake, NULL);
    if (!smtl_start_thread(worker_main, worker)) {
        pthread_cond_destroy(&worker->wake);
        pthread_mutex_destroy(&worker->mutex);
        free(worker);
        return NULL;
    }
    return worker;
}

void smtl_worker_post(smtl_worker *worker, smtl_work *work) {
    work->next = NULL;
    pthread_mutex_lock(&worker->mutex);
    *worker->last = work;
    worker->last = &work->next;
    atomic_fetch_add_explicit(&worker->posted, 1, memory_order_relaxed);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
}

bool smtl_worker_has_work(smtl_worker *worker) {
    pthread_mutex_lock(&worker->mutex);
    bool has_work = worker->first != NULL;
    pthread_mutex_unlock(&worker->mutex);
    return has_work;
}

void smtl_worker_release(smtl_worker *worker) {
    pthread_mutex_lock(&worker->mutex);
    worker->released = true;
    atomic_fetch_add_explicit(&worker->posted, 1, memory_order_relaxed);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
}
