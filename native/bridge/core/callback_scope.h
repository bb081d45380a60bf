/* Which queues have a callback or a host function running on this thread. A queue runs one at a time, so whatever has
 * not completed there comes after it: a wait for that would last for ever, and is refused. Metal also calls
 * deallocators, on a thread that it may need for the work of any queue: there a wait for any queue is refused. */
#ifndef MTBI_CALLBACK_SCOPE_H
#define MTBI_CALLBACK_SCOPE_H

#include "metal_bridge.h"

/* Lives on the stack of the thread that calls back. */
typedef struct mtbi_callback_scope {
    /* NULL for all queues. */
    const mtb_command_queue *queue;
    const struct mtbi_callback_scope *outer;
} mtbi_callback_scope;

void mtbi_callback_scope_enter(mtbi_callback_scope *scope, const mtb_command_queue *queue);
void mtbi_callback_scope_leave(const mtbi_callback_scope *scope);
/* Whether this thread is in a callback of any queue. */
bool mtbi_is_in_callback(void);

/* The bridge's functions that this thread is in. If there is none, a call from Metal comes on a thread of Metal's. */
extern _Thread_local unsigned mtbi_calls_under_way;

static inline char mtbi_call_begin(void) {
    mtbi_calls_under_way++;
    return 0;
}

static inline void mtbi_call_end(const char *call) {
    (void)call;
    mtbi_calls_under_way--;
}

/* MTB_DEADLOCK inside a callback of the queue; `what` is waited for. */
mtb_status mtbi_check_may_wait(const mtb_command_queue *queue, const char *what, mtb_error **error,
                               const char *function);

#endif
