/* A command buffer, and what happens when it has completed. */
#ifndef MTBI_COMMAND_BUFFER_H
#define MTBI_COMMAND_BUFFER_H

#include "buffer/buffer.h"
#include "core/references.h"
#include "event/steps.h"
#include "queue/queue.h"

/* What waits for the command buffer to complete: a callback (which may be NULL), and the context that goes with it. */
typedef struct mtbi_callback {
    struct mtbi_callback *next;
    mtb_completion_callback callback;
    void *context;
    mtb_context_destructor destructor;
} mtbi_callback;

struct mtb_command_buffer {
    mtbi_handle handle;
    mtb_command_queue *queue;
    MTBI_OBJECT(MTLCommandBuffer) metal;
    mtbi_slot_kind slot;
    bool is_enqueued;
    /* The encoder that is open; NULL between encoders. Not retained: it ends at the latest when the command buffer
     * goes. */
    struct mtbi_encoder *encoder;
    /* Metal raised an exception at a command after the caller had been told that it was encoded. */
    bool is_spoiled;
    atomic_bool is_committed;
    /* Later than the commit, if a host function holds that up: see command/order.m. */
    atomic_bool is_with_metal;
    /* Metal raised an exception at the commit, and will not run the command buffer. */
    atomic_bool is_refused;
    /* The CPU makes copies at its end: see queue/host_copies.h. */
    bool has_host_copies;
    /* The last host functions that its own wait is for, and that come before it; the next that is held up. */
    uint64_t waits_for;
    uint64_t comes_after;
    struct mtb_command_buffer *next_held;
    atomic_bool has_left_queue;
    /* In the order in which they were added. */
    mtbi_callback *callbacks;
    mtbi_steps steps;
    /* Buffers of pools, until it has completed. */
    mtbi_references buffers;
    /* NULL, or an earlier part of the same transfer, whose failure is this one's too. The earlier part completes first.
     */
    mtb_command_buffer *earlier;
    /* Set, and announced, once the callbacks have run. */
    pthread_mutex_t mutex;
    pthread_cond_t completion;
    bool has_completed;
};

/* The command buffer can be encoded into: it is not committed, and no encoder is open. */
mtb_status mtbi_command_buffer_check_open(const mtb_command_buffer *command_buffer, mtb_error **error,
                                          const char *function);

/* Makes a command buffer in a slot that the caller has taken. On failure the slot is given back. */
mtb_command_buffer *mtbi_command_buffer_make(mtb_command_queue *queue, mtbi_slot_kind slot, mtb_references references,
                                             mtb_error **error, const char *function);
/* mtb_command_buffer_commit. If `number` is given, a host function follows the command buffer, and gets that number:
 * zero if Metal raised an exception and does not run the command buffer. */
mtb_status mtbi_command_buffer_commit(mtb_command_buffer *command_buffer, uint64_t *number, mtb_error **error,
                                      const char *function);
/* Whether Metal has the command buffer and will complete it. Metal says so even after an exception in the commit;
 * `if_unknown` if Metal raises an exception at this question, too. */
bool mtbi_command_buffer_runs(const mtb_command_buffer *command_buffer, bool if_unknown);
/* Metal raised an exception at a commit that the caller had been told of before: unless Metal runs the command buffer,
 * it has failed. */
void mtbi_command_buffer_complete_refused(mtb_command_buffer *command_buffer);
/* Calls the destructor. */
void mtbi_callback_drop(const mtbi_callback *callback);
/* Adds to the end of `callbacks`. If the call fails, the context is still the caller's. */
mtb_status mtbi_command_buffer_add_callback(mtb_command_buffer *command_buffer, mtbi_callback callback,
                                            mtb_error **error, const char *function);
/* Keeps a buffer from a pool alive; does nothing for others. */
mtb_status mtbi_command_buffer_keep(mtb_command_buffer *command_buffer, mtb_buffer *buffer, mtb_error **error,
                                    const char *function);
/* Drops the buffers that are kept, the callbacks with their contexts, the signals and the waits. */
void mtbi_command_buffer_forget(mtb_command_buffer *command_buffer);
/* Gives the queue back the command buffer's slot. Only the first call acts. */
void mtbi_command_buffer_leave_queue(mtb_command_buffer *command_buffer);
/* After the callbacks: wakes those who wait. */
void mtbi_command_buffer_announce(mtb_command_buffer *command_buffer);
/* A callback that runs for this many nanoseconds may wait for the thread that waits for it. */
#define MTBI_LONG_CALLBACK 2000000000u
/* Waits until the callbacks have run. False if the time was up first; if one callback of the queue has run for long by
 * then, a line on stderr says so, once for each callback. */
bool mtbi_command_buffer_await(mtb_command_buffer *command_buffer, uint64_t timeout_ns);

#endif
