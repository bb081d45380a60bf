/* A loop on several threads. The caller takes part and needs no helpers to finish it, so that loops within loops end.
 */
#import "SMTLDispatchQueue.h"

#include <stdlib.h>

typedef struct {
    size_t iterations;
    void (*work)(void *context, size_t iteration);
    void *context;
    SMTLDispatchQueue *queue;
    size_t next; /* atomic: the first iteration that nobody has taken */
    pthread_mutex_t mutex;
    pthread_cond_t left;
    /* Guarded by the mutex: */
    unsigned references;
    unsigned helpers; /* inside the loop */
    bool closed;      /* the caller has left: what `work` needs is gone */
} loop;

typedef struct {
    smtl_pool_item item; /* first, so that a pointer to it is a pointer to the helper */
    loop *loop;
} helper;

static void iterate(loop *shared) {
    size_t i;
    while ((i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < shared->iterations)
        shared->work(shared->context, i);
}

static void drop(loop *shared) {
    pthread_mutex_lock(&shared->mutex);
    const bool last = --shared->references == 0;
    pthread_mutex_unlock(&shared->mutex);
    if (last) {
        pthread_cond_destroy(&shared->left);
        pthread_mutex_destroy(&shared->mutex);
        free(shared);
    }
}

static void help(smtl_pool_item *item) {
    loop *shared = ((helper *)item)->loop;
    free(item);
    pthread_mutex_lock(&shared->mutex);
    const bool takes_part = !shared->closed;
    shared->helpers += takes_part;
    pthread_mutex_unlock(&shared->mutex);
    if (takes_part) {
        {
            SMTL_ON_QUEUE(shared->queue);
            iterate(shared);
        }
        pthread_mutex_lock(&shared->mutex);
        shared->helpers--;
        pthread_cond_signal(&shared->left);
        pthread_mutex_unlock(&shared->mutex);
    }
    drop(shared);
}

/* Lets no more helpers into the loop and waits until those inside have left: at the end, and when an iteration raises
 * an exception. */
static void close_loop(loop **handle) {
    loop *shared = *handle;
    __atomic_store_n(&shared->next, shared->iterations, __ATOMIC_RELAXED);
    pthread_mutex_lock(&shared->mutex);
    shared->closed = true;
    if (shared->helpers > 0) {
        smtl_pool_begin_wait();
        while (shared->helpers > 0) pthread_cond_wait(&shared->left, &shared->mutex);
        smtl_pool_end_wait();
    }
    pthread_mutex_unlock(&shared->mutex);
    drop(shared);
}

static void call_helpers(loop *shared) {
    const size_t width = smtl_pool_width();
    const size_t wanted = (shared->iterations < width ? shared->iterations : width) - 1;
    for (size_t i = 0; i < wanted; i++) {
        helper *called = malloc(sizeof *called);
        if (called == NULL) return;
        *called = (helper){.item.run = help, .loop = shared};
        pthread_mutex_lock(&shared->mutex);
        shared->references++;
        pthread_mutex_unlock(&shared->mutex);
        smtl_pool_post(&called->item);
    }
}

/* The parameters of dispatch_apply, for work of a queue. */
typedef struct {
    size_t iterations;
    SMTLDispatchQueue *queue;
    void *context;
    void (*work)(void *context, size_t iteration);
} request;

static void apply_on_queue(void *context) {
    const request *asked = context;
    loop *shared = asked->queue->_kind == SMTL_QUEUE_SERIAL || asked->queue->_kind == SMTL_QUEUE_MAIN
                       ? NULL
                       : calloc(1, sizeof *shared);
    if (shared == NULL) {
        for (size_t i = 0; i < asked->iterations; i++) asked->work(asked->context, i);
        return;
    }
    shared->iterations = asked->iterations;
    shared->work = asked->work;
    shared->context = asked->context;
    shared->queue = asked->queue;
    shared->references = 1;
    pthread_mutex_init(&shared->mutex, NULL);
    pthread_cond_init(&shared->left, NULL);
    loop *open __attribute__((cleanup(close_loop))) = shared;
    call_helpers(open);
    iterate(open);
}

void dispatch_apply_f(size_t iterations, dispatch_queue_t queue, void *context,
                      void (*work)(void *context, size_t iteration)) {
    if (iterations == 0) return;
    dispatch_queue_t target = queue == DISPATCH_APPLY_AUTO ? dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0) : queue;
    request asked = {iterations, (SMTLDispatchQueue *)target, context, work};
    if (asked.queue->_kind == SMTL_QUEUE_CONCURRENT && smtl_runs_on_queue(asked.queue)) {
        /* This loop is inside another. Behind a barrier that waits for the outer loop, it would wait for ever. */
        apply_on_queue(&asked);
        return;
    }
    [asked.queue perform:apply_on_queue context:&asked barrier:false where:"dispatch_apply"];
}

static void call_iteration(void *block, size_t iteration) { ((void (^)(size_t))block)(iteration); }

void dispatch_apply(size_t iterations, dispatch_queue_t queue, void (^block)(size_t iteration)) {
    dispatch_apply_f(iterations, queue, (void *)block, call_iteration);
}
