/* Where threads wait for a command buffer. It outlives the command buffer: the queue's thread releases the command
 * buffer before it wakes the waiters, who therefore find the queue's reference gone. */
#ifndef SMTL_COMPLETION_H
#define SMTL_COMPLETION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t references;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool scheduled;
    bool finished;
    bool has_handler_thread;
    pthread_t handler_thread; /* runs the completed handlers now */
} smtl_completion;

/* NULL when memory runs out. */
smtl_completion *smtl_completion_create(void);
void smtl_completion_retain(smtl_completion *completion);
void smtl_completion_release(smtl_completion *completion);

void smtl_completion_set_scheduled(smtl_completion *completion);
/* Finished: executed, handlers run, resources released. */
void smtl_completion_set_finished(smtl_completion *completion);
void smtl_completion_wait_scheduled(smtl_completion *completion);
/* Returns at once on the thread that runs the command buffer's own handlers, which would wait for itself. */
void smtl_completion_wait_finished(smtl_completion *completion);
/* Marks the calling thread as the one that runs the handlers. */
void smtl_completion_enter_handlers(smtl_completion *completion);

#endif
