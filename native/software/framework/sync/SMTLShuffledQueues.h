/* The order of shuffled queues. Metal leaves the order of command buffers of different queues open, and the threads
 * that execute them would decide it by chance. If execution is shuffled, one command buffer executes at a time: that of
 * a queue that the seed picks among the queues that have one.
 *
 * What the caller has committed by the time of a choice depends on its pace. A choice therefore waits until a thread
 * waits for the GPU, or until no commit has come for a while: a program that commits and then waits always runs in the
 * same order. */
#ifndef SMTL_SHUFFLED_QUEUES_H
#define SMTL_SHUFFLED_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

/* A queue, as the others see it. */
typedef struct smtl_shuffled_queue {
    struct smtl_shuffled_queue *next; /* in order of creation */
    uint64_t pending; /* committed command buffers that have not executed */
    bool blocked; /* waits for an event */
} smtl_shuffled_queue;

/* All of these do nothing unless execution is shuffled. */
void smtl_shuffled_queue_add(smtl_shuffled_queue *queue);
void smtl_shuffled_queue_remove(smtl_shuffled_queue *queue);
/* The queue has one more command buffer to execute. */
void smtl_shuffled_queue_announce(smtl_shuffled_queue *queue);
/* Around the execution of a command buffer. */
void smtl_shuffled_queue_begin(smtl_shuffled_queue *queue);
void smtl_shuffled_queue_end(smtl_shuffled_queue *queue);
/* Around a wait for an event: other queues run in the meantime. */
void smtl_shuffled_queue_pause(smtl_shuffled_queue *queue);
void smtl_shuffled_queue_resume(smtl_shuffled_queue *queue);
/* Around a thread's wait for what the GPU does. */
void smtl_shuffled_queues_host_waits(void);
void smtl_shuffled_queues_host_goes_on(void);

#endif
