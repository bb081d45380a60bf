#include "SMTLCompletion.h"

#include "SMTLShuffledQueues.h"
#include <stdlib.h>

smtl_completion *smtl_completion_create(void) {
    smtl_completion *completion = calloc(1, sizeof *completion);
    if (completion != NULL) {
        completion->references = 1;
        pthread_mutex_init(&completion->mutex, NULL);
        pthread_cond_init(&completion->changed, NULL);
    }
    return completion;
}

void smtl_completion_retain(smtl_completion *completion) {
    __atomic_fetch_add(&completion->references, 1, __ATOMIC_RELAXED);
}

void smtl_completion_release(smtl_completion *completion) {
    if (__atomic_sub_fetch(&completion->references, 1, __ATOMIC_ACQ_REL) == 0) {
        pthread_cond_destroy(&completion->changed);
        pthread_mutex_destroy(&completion->mutex);
        free(completion);
    }
}

static void set(smtl_completion *completion, bool *flag) {
    pthread_mutex_lock(&completion->mutex);
    *flag = true;
    pthread_cond_broadcast(&completion->changed);
    pthread_mutex_unlock(&completion->mutex);
}

void smtl_completion_set_scheduled(smtl_completion *completion) { set(completion, &completion->scheduled); }

void smtl_completion_set_finished(smtl_completion *completion) { set(completion, &completion->finished); }

void smtl_completion_enter_handlers(smtl_completion *completion) {
    pthread_mutex_lock(&completion->mutex);
    completion->handler_thread = pthread_self();
    completion->has_handler_thread = true;
    pthread_mutex_unlock(&completion->mutex);
}

void smtl_completion_wait_scheduled(smtl_completion *completion) {
    smtl_shuffled_queues_host_waits();
    pthread_mutex_lock(&completion->mutex);
    while (!completion->scheduled) pthread_cond_wait(&completion->changed, &completion->mutex);
    pthread_mutex_unlock(&completion->mutex);
    smtl_shuffled_queues_host_goes_on();
}

void smtl_completion_wait_finished(smtl_completion *completion) {
    smtl_shuffled_queues_host_waits();
    pthread_mutex_lock(&completion->mutex);
    bool own = completion->has_handler_thread && pthread_equal(completion->handler_thread, pthread_self());
    while (!completion->finished && !own) pthread_cond_wait(&completion->changed, &completion->mutex);
    pthread_mutex_unlock(&completion->mutex);
    smtl_shuffled_queues_host_goes_on();
}
