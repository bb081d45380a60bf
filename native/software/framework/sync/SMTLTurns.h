/* Shuffled queues take turns. Metal leaves the order of command buffers of different queues open, and the threads that
 * execute them would decide it by chance. If execution is shuffled, one command buffer executes at a time: that of a
 * queue that the seed picks among the queues that have one.
 *
 * What the caller has committed by the time of a choice depends on its pace. A choice therefore waits until a thread
 * waits for the GPU, or until no commit has come for a while: a program that commits and then waits always runs in the
 * same order. */
#ifndef SMTL_TURNS_H
#define SMTL_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* A queue's part. */
typedef struct smtl_turn {
    struct smtl_turn *next; /* in order of creation */
    uint64_t pending; /* committed command buffers that have not executed */
    bool blocked; /* waits for an event */
} smtl_turn;

/* All of these do nothing unless execution is shuffled. */
void smtl_turn_add(smtl_turn *turn);
void smtl_turn_remove(smtl_turn *turn);
/* The queue has one more command buffer to execute. */
void smtl_turn_announce(smtl_turn *turn);
/* Around the execution of a command buffer. */
void smtl_turn_begin(smtl_turn *turn);
void smtl_turn_end(smtl_turn *turn);
/* Around a wait for an event: other queues run in the meantime. */
void smtl_turn_pause(smtl_turn *turn);
void smtl_turn_resume(smtl_turn *turn);
/* Around a thread's wait for what the GPU does. */
void smtl_turns_host_waits(void);
void smtl_turns_host_goes_on(void);

#endif
