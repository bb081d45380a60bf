#import <dispatch/once.h>

#include "SMTLDispatchPool.h"
#import "SMTLDispatchQueue.h"
#import "support/SMTLError.h"
#include <sys/syscall.h>
#include <unistd.h>

/* A predicate is 0 at first, then the id of the thread that runs the work, then this. */
static const dispatch_once_t done = -1;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

typedef struct {
    dispatch_once_t *predicate;
    dispatch_once_t state; /* what the predicate becomes */
} attempt;

static void end_attempt(attempt *ending) {
    pthread_mutex_lock(&mutex);
    __atomic_store_n(ending->predicate, ending->state, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&mutex);
}

void dispatch_once_f(dispatch_once_t *predicate, void *context, dispatch_function_t work) {
    if (__atomic_load_n(predicate, __ATOMIC_ACQUIRE) == done) return;
    const dispatch_once_t self = (dispatch_once_t)syscall(SYS_gettid);
    SMTL_REQUIRE(__atomic_load_n(predicate, __ATOMIC_RELAXED) != self, "dispatch_once",
                 @"called again for the same predicate, from the work that it runs");
    pthread_mutex_lock(&mutex);
    if (*predicate != 0 && *predicate != done) {
        smtl_pool_begin_wait();
        while (*predicate != 0 && *predicate != done) pthread_cond_wait(&ended, &mutex);
        smtl_pool_end_wait();
    }
    const bool runs = *predicate == 0;
    if (runs) __atomic_store_n(predicate, self, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    if (runs) {
        /* An exception leaves the predicate as if dispatch_once had not been called. */
        attempt current __attribute__((cleanup(end_attempt))) = {predicate, 0};
        work(context);
        current.state = done;
    }
}

void dispatch_once(dispatch_once_t *predicate, dispatch_block_t block) {
    dispatch_once_f(predicate, (void *)block, smtl_call_block);
}
