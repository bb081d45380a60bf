/* Work for later: one thread sleeps until the first deadline. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "SMTLDispatchPool.h"
#include "SMTLDispatchTime.h"

#include "support/threads.h"
#import <Foundation/Foundation.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct timer {
    struct timer *next;
    uint64_t deadline;
    smtl_pool_item *item;
} timer;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static timer *first; /* in the order of deadlines */
static bool running; /* somebody waits for the timers, or is about to */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void prepare(void) { smtl_condition_init(&changed); }

/* Waits for the first timer and runs it here, and not on the pool's threads, which would not keep the order. False if
 * there is none: then the next timer needs somebody who waits. */
static bool run_first(void) {
    pthread_mutex_lock(&mutex);
    while (first != NULL && smtl_monotonic_now() < first->deadline)
        smtl_condition_wait(&changed, &mutex, first->deadline);
    timer *due = first;
    if (due != NULL)
        first = due->next;
    else
        running = false;
    pthread_mutex_unlock(&mutex);
    if (due == NULL) return false;
    due->item->run(due->item);
    free(due);
    return true;
}

static void *wait_for_timers(void *unused) {
    pthread_setname_np(pthread_self(), "dispatch timers");
    GSRegisterCurrentThread();
    while (run_first()) {}
    GSUnregisterCurrentThread();
    return unused;
}

static void run_in_pool(smtl_pool_item *unused);
static smtl_pool_item in_pool = {.run = run_in_pool};

/* If the system gives no thread, one of the pool's waits, for one timer at a time: others may want it too. */
static void wait_elsewhere(void) {
    if (!smtl_start_thread(wait_for_timers, NULL)) smtl_pool_post(&in_pool);
}

static void run_in_pool(smtl_pool_item *unused) {
    (void)unused;
    smtl_pool_begin_wait();
    const bool more = run_first();
    smtl_pool_end_wait();
    if (more) wait_elsewhere();
}

void smtl_run_at(smtl_pool_item *item, uint64_t deadline) {
    pthread_once(&prepared, prepare);
    timer *added = malloc(sizeof *added);
    if (added == NULL) [NSException raise:NSMallocException format:@"dispatch_after: out of memory"];
    *added = (timer){NULL, deadline, item};
    pthread_mutex_lock(&mutex);
    timer **link = &first;
    while (*link != NULL && (*link)->deadline <= deadline) link = &(*link)->next;
    added->next = *link;
    *link = added;
    const bool somebody_waits = running;
    running = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    if (!somebody_waits) wait_elsewhere();
}
