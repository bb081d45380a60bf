/* The signals and waits of a command buffer, and what becomes of them when it fails. */
#ifndef MTBI_EVENT_STEPS_H
#define MTBI_EVENT_STEPS_H

#include "event/event.h"

typedef enum mtbi_step_kind {
    MTBI_STEP_SIGNAL,
    MTBI_STEP_WAIT
} mtbi_step_kind;

/* A signal or a wait. A signal holds a reference to the event; a wait keeps only its handle, so that nobody can signal
 * an event whose references are gone. */
typedef struct mtbi_step {
    struct mtbi_step *next;
    mtbi_step_kind kind;
    mtb_event *event;
    uint64_t value;
    /* If the step has been committed and is still to come: the event's next step of the kind, and whose step this is.
     */
    struct mtbi_step *next_pending;
    struct mtbi_steps *owner;
} mtbi_step;

/* In the order in which they were encoded. */
typedef struct mtbi_steps {
    mtbi_step *first;
    mtbi_step *last;
    /* One of the waits was ended because nobody could signal the event any more. */
    atomic_bool is_abandoned;
} mtbi_steps;

mtb_status mtbi_steps_add(mtbi_steps *steps, mtbi_step_kind kind, mtb_event *event, uint64_t value, mtb_error **error,
                          const char *function);
/* The command buffer is about to be committed: its signals are to come. MTB_DEADLOCK if it waits for a value that
 * nobody can signal any more. */
mtb_status mtbi_steps_begin(mtbi_steps *steps, mtb_error **error, const char *function);
/* No reference to the event is left, and it has `signaled`: marks who waits for more. Returns the largest value among
 * theirs; zero for none. */
uint64_t mtbi_steps_abandon(mtb_event *event, uint64_t signaled);
/* The command buffer has completed: its signals have come. Drops the steps. */
void mtbi_steps_complete(mtbi_steps *steps);
/* The command buffer has failed, and Metal has not signalled. Each signal comes when it would have come without the
 * failure: after the waits before it, and after smaller values that other command buffers are still to signal. */
void mtbi_steps_rescue(mtbi_steps *steps);
/* Drops the steps of a command buffer that was not committed. */
void mtbi_steps_drop(mtbi_steps *steps);

#endif
