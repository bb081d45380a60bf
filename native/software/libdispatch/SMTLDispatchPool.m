#define _GNU_SOURCE /* pthread_setname_np */
#include "SMTLDispatchPool.h"

#include "SMTLDispatchTime.h"
#import "objc_runtime/SMTLFoundation.h"
#include "support/threads.h"
#import <Foundation/Foundation.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum {
    MOST_THREADS = 512, /* beyond it work waits, as on Apple's systems */
};
static const uint64_t stall = 10 * 1000000; /* no item is taken for this long: the threads wait for something */
static const uint64_t idle_time = 5ull * 1000000000; /* a thread without work ends after it */

/* The mutex guards all of it. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t work;
    smtl_pool_item *first, **last;
    unsigned ready; /* items in the list */
    unsigned threads; /* that exist */
    unsigned idle; /* of them, waiting for work */
    unsigned waiting; /* of them, inside a wait that we know of */
    uint64_t taken; /* items ever taken */
    bool watched; /* the watcher of stalls runs */
    unsigned width;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .last = &pool.first};

static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static __thread bool is_pool_thread;

static void prepare(void) {
    SMTLInitialiseFoundation();
    smtl_condition_init(&pool.work);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    pool.width = processors < 1 ? 1 : (unsigned)processors;
}

static smtl_pool_item *pop(void) {
    smtl_pool_item *item = pool.first;
    pool.first = item->next;
    if (pool.first == NULL) pool.last = &pool.first;
    pool.ready--;
    pool.taken++;
    return item;
}

/* The next item; NULL when none has come for long. */
static smtl_pool_item *take(void) {
    const uint64_t deadline = smtl_monotonic_now() + idle_time;
    smtl_pool_item *item = NULL;
    pthread_mutex_lock(&pool.mutex);
    pool.idle++;
    while (pool.first == NULL && smtl_condition_wait(&pool.work, &pool.mutex, deadline)) {}
    pool.idle--;
    if (pool.first != NULL)
        item = pop();
    else
        pool.threads--;
    pthread_mutex_unlock(&pool.mutex);
    return item;
}

static void *thread_main(void *unused) {
    is_pool_thread = true;
    pthread_setname_np(pthread_self(), "dispatch");
    /* GNUstep must know a thread that it did not start, or Foundation fails on it. */
    GSRegisterCurrentThread();
    smtl_pool_item *item;
    while ((item = take()) != NULL) {
        /* An exception that leaves the item has no handler, so the runtime reports it and ends the process where it was
         * raised, as on Apple's systems. */
        @autoreleasepool {
            item->run(item);
        }
    }
    GSUnregisterCurrentThread();
    return unused;
}

/* Adds a thread. The caller holds the mutex. */
static void add_thread(void) {
    if (pool.threads < MOST_THREADS && smtl_start_thread(thread_main, NULL)) pool.threads++;
}

static bool is_short_of_threads(void) { return pool.ready > pool.idle; }

/* Adds a thread each time that no item has been taken, until there are idle threads for all items. */
static void *watch(void *unused) {
    pthread_mutex_lock(&pool.mutex);
    while (is_short_of_threads()) {
        const uint64_t before = pool.taken;
        pthread_mutex_unlock(&pool.mutex);
        usleep(stall / 1000);
        pthread_mutex_lock(&pool.mutex);
        if (is_short_of_threads() && pool.taken == before) add_thread();
    }
    pool.watched = false;
    pthread_mutex_unlock(&pool.mutex);
    return unused;
}

/* Makes sure that ready items will run. The caller holds the mutex. */
static void provide_threads(void) {
    if (!is_short_of_threads()) return;
    if (pool.threads - pool.waiting < pool.width)
        add_thread();
    else if (!pool.watched)
        pool.watched = smtl_start_thread(watch, NULL);
}

void smtl_pool_post(smtl_pool_item *item) {
    pthread_once(&prepared, prepare);
    item->next = NULL;
    pthread_mutex_lock(&pool.mutex);
    *pool.last = item;
    pool.last = &item->next;
    pool.ready++;
    pthread_cond_signal(&pool.work);
    provide_threads();
    smtl_pool_item *orphan = pool.threads == 0 ? pop() : NULL;
    pthread_mutex_unlock(&pool.mutex);
    if (orphan != NULL) {
        @autoreleasepool {
            orphan->run(orphan);
        }
    }
}

void smtl_pool_begin_wait(void) {
    if (is_pool_thread) {
        pthread_mutex_lock(&pool.mutex);
        pool.waiting++;
        provide_threads();
        pthread_mutex_unlock(&pool.mutex);
    }
}

void smtl_pool_end_wait(void) {
    if (is_pool_thread) {
        pthread_mutex_lock(&pool.mutex);
        pool.waiting--;
        pthread_mutex_unlock(&pool.mutex);
    }
}

unsigned smtl_pool_width(void) {
    pthread_once(&prepared, prepare);
    return pool.width;
}
