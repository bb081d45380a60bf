/* A command buffer, and what happens when it has completed. */
#ifndef MTBI_COMMAND_BUFFER_H
#define MTBI_COMMAND_BUFFER_H

#include "event/steps.h"

/* A callback that waits for the command buffer to complete. */
typedef struct mtbi_callback {
    struct mtbi_callback *next;
    mtb_completion_callback callback;
    void *context;
    mtb_context_destructor destructor;
} mtbi_callback;

struct mtb_command_buffer {
    mtbi_handle handle;
    mtb_queue *queue;
    MTBI_OBJECT(MTLCommandBuffer) metal;
    mtbi_room_kind room;
    bool is_enqueued;
    /* The encoder that is open; NULL between encoders. Not retained: it ends at the latest when the command buffer
     * goes. */
    struct mtbi_encoder *encoder;
    /* Metal raised an exception at something that the caller had been told was encoded. */
    bool is_spoiled;
    atomic_bool is_committed;
    /* Later than the commit where that is held up: see queue/order.m. */
    atomic_bool is_with_metal;
    /* The host functions of the queue that it waits for itself, and that it comes after; what is held up beside it. */
    uint64_t waits_for;
    uint64_t comes_after;
    struct mtb_command_buffer *next_held;
    atomic_bool has_left_queue;
    /* In the order in which they were added. */
    mtbi_callback *callbacks;
    mtbi_steps steps;
    /* Buffers of pools, a reference each, until it has completed. */
    mtb_buffer **kept;
    size_t kept_count;
    size_t kept_capacity;
    /* NULL, or an earlier part of the same transfer, whose failure is this one's too. It has completed by then. */
    mtb_command_buffer *earlier;
    /* Set, and announced, once the callbacks have run. */
    pthread_mutex_t mutex;
    pthread_cond_t completion;
    bool has_completed;
};

/* In state to be encoded into: not committed, and no encoder open. */
mtb_status mtbi_command_buffer_check_open(const mtb_command_buffer *command_buffer, mtb_error **error,
                                          const char *function);

/* Makes a command buffer in room that the caller has taken, and that goes back with it or at once on failure. */
mtb_command_buffer *mtbi_command_buffer_make(mtb_queue *queue, mtbi_room_kind room, mtb_references references,
                                             mtb_error **error, const char *function);
/* mtb_command_buffer_commit, of one that comes before a host function where `number` is given: the function's. */
mtb_status mtbi_command_buffer_commit(mtb_command_buffer *command_buffer, uint64_t *number, mtb_error **error,
                                      const char *function);
/* Adds to the end of `callbacks`. */
mtb_status mtbi_command_buffer_add_callback(mtb_command_buffer *command_buffer, mtbi_callback callback,
                                            mtb_error **error, const char *function);
/* Keeps a buffer alive that comes from a pool; does nothing for others. */
mtb_status mtbi_command_buffer_keep(mtb_command_buffer *command_buffer, mtb_buffer *buffer, mtb_error **error,
                                    const char *function);
/* Drops what is kept, callbacks (with their contexts), signals and waits. */
void mtbi_command_buffer_forget(mtb_command_buffer *command_buffer);
/* Gives the queue back the room that the command buffer takes. Only the first call acts. */
void mtbi_command_buffer_leave_queue(mtb_command_buffer *command_buffer);
/* After the callbacks: wakes those who wait. */
void mtbi_command_buffer_announce(mtb_command_buffer *command_buffer);
/* Waits for that. False when the time was up first. */
bool mtbi_command_buffer_await(mtb_command_buffer *command_buffer, uint64_t timeout_ns);

#endif
