#define _GNU_SOURCE /* pthread_setname_np */
#include "SMTLWorker.h"

#import <Foundation/Foundation.h>
#include <objc/thr.h>
#include <pthread.h>
#include <stdlib.h>

#define NAME_CAPACITY 16 /* what Linux keeps of a thread's name */

struct smtl_worker {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    smtl_work *first;
    smtl_work **last;
    bool released;
    char name[NAME_CAPACITY];
};

/* GCC's runtime counts the threads that it is told of. As long as it knows of one alone, it frees dispatch tables that it
 * has replaced at once, while other threads may be reading them; GNUstep tells it of none. */
__attribute__((constructor)) static void tell_runtime_of_threads(void)
{
    objc_thread_add();
}

static smtl_work *next_work(smtl_worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->first == NULL && !worker->released) {
        pthread_cond_wait(&worker->wake, &worker->mutex);
    }
    smtl_work *work = worker->first;
    if (work != NULL) {
        worker->first = work->next;
        if (worker->first == NULL) {
            worker->last = &worker->first;
        }
    }
    pthread_mutex_unlock(&worker->mutex);
    return work;
}

static void run_in_pool(smtl_work *work)
{
    @autoreleasepool {
        @try {
            work->run(work);
        } @catch (id exception) {
            /* As on a dispatch queue nobody is there to catch it; unlike there, the program goes on. */
            NSLog(@"software Metal: uncaught exception on a worker thread: %@", exception);
        }
    }
}

static void *worker_main(void *argument)
{
    smtl_worker *worker = argument;
    pthread_setname_np(pthread_self(), worker->name);
    /* GNUstep must know a thread that it did not start, or Foundation fails on it. */
    GSRegisterCurrentThread();
    smtl_work *work;
    while ((work = next_work(worker)) != NULL) {
        run_in_pool(work);
    }
    /* Not inside a pool: it frees the thread's pools. */
    GSUnregisterCurrentThread();
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
    return NULL;
}

smtl_worker *smtl_worker_create(const char *name)
{
    smtl_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        return NULL;
    }
    strncpy(worker->name, name, NAME_CAPACITY - 1);
    worker->last = &worker->first;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->wake, NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int status = pthread_create(&thread, &attributes, worker_main, worker);
    pthread_attr_destroy(&attributes);
    if (status != 0) {
        pthread_cond_destroy(&worker->wake);
        pthread_mutex_destroy(&worker->mutex);
        free(worker);
        return NULL;
    }
    return worker;
}

void smtl_worker_post(smtl_worker *worker, smtl_work *work)
{
    work->next = NULL;
    pthread_mutex_lock(&worker->mutex);
    *worker->last = work;
    worker->last = &work->next;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
}

bool smtl_worker_has_work(smtl_worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    bool has_work = worker->first != NULL;
    pthread_mutex_unlock(&worker->mutex);
    return has_work;
}

void smtl_worker_release(smtl_worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    worker->released = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
}
