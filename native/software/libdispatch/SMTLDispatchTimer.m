/* Work for later: one thread sleeps until the first deadline. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "SMTLDispatchPool.h"
#include "SMTLDispatchTime.h"

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
static bool running;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void prepare(void) { smtl_condition_init(&changed); }

/* Ends when there is no timer left. */
static void *wait_for_timers(void *unused) {
    pthread_setname_np(pthread_self(), "dispatch timers");
    GSRegisterCurrentThread();
    pthread_mutex_lock(&mutex);
    while (first != NULL) {
        timer *due = first;
        if (smtl_monotonic_now() < due->deadline) {
            smtl_condition_wait(&changed, &mutex, due->deadline);
            continue;
        }
        first = due->next;
        pthread_mutex_unlock(&mutex);
        /* Run here, and not on the pool's threads, which would not keep the order. */
        due->item->run(due->item);
        free(due);
        pthread_mutex_lock(&mutex);
    }
    running = false;
    pthread_mutex_unlock(&mutex);
    GSUnregisterCurrentThread();
    return unused;
}

void smtl_run_at(smtl_pool_item *item, uint64_t deadline) {
    pthread_once(&prepared, prepare);
    timer *added = malloc(sizeof *added);
    if (added == NULL) {
        [NSException raise:NSMallocException format:@"dispatch_after: out of memory"];
    }
    *added = (timer){NULL, deadline, item};
    pthread_mutex_lock(&mutex);
    timer **link = &first;
    while (*link != NULL && (*link)->deadline <= deadline) {
        link = &(*link)->next;
    }
    added->next = *link;
    *link = added;
    if (running) {
        pthread_cond_signal(&changed);
    } else {
        pthread_t thread;
        running = pthread_create(&thread, NULL, wait_for_timers, NULL) == 0;
        if (running) {
            pthread_detach(thread);
        }
    }
    pthread_mutex_unlock(&mutex);
}
