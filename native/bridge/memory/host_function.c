/* Functions of the caller's in a queue's order: callbacks of an empty command buffer, for whose return the queue's
 * later command buffers wait (command/order.m). */
#include "command/order.h"
#include "core/checks.h"

#include <stdlib.h>

typedef struct host_call {
    mtb_host_function function;
    mtb_completion_callback callback;
    void *context;
    mtb_context_destructor destructor;
    mtb_queue *queue;
    uint64_t number;
    /* Until then the context is the caller's. */
    bool is_committed;
} host_call;

static void call(const mtb_completion *completion, void *context) {
    host_call *what = context;
    if (completion->status == MTB_COMMAND_BUFFER_COMPLETED) what->function(what->context);
    mtbi_queue_end_function(what->queue, what->number);
}

static void free_call(void *context) {
    host_call *what = context;
    if (what->is_committed && what->destructor) what->destructor(what->context);
    free(what);
}

/* Has the command buffer call, and commits it. */
static mtb_status commit(mtb_command_buffer *command_buffer, const host_call *wanted, mtb_error **error,
                         const char *function) {
    host_call *what = malloc(sizeof *what);
    if (!what) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a host function");
    *what = *wanted;
    mtb_status status = mtb_command_buffer_add_completed_callback(command_buffer, call, what, free_call, error);
    if (status) {
        free_call(what);
        return status;
    }
    if (what->callback)
        REQUIRE(mtb_command_buffer_add_completed_callback(command_buffer, what->callback, what->context, NULL, error));
    what->is_committed = true;
    return mtbi_command_buffer_commit(command_buffer, &what->number, error, function);
}

mtb_command_buffer *mtb_queue_call_host_function(mtb_queue *queue, mtb_host_function function,
                                                 mtb_completion_callback callback, void *context,
                                                 mtb_context_destructor destructor, mtb_error **error) {
    mtbi_error_clear(error);
    if (GIVEN(queue) || mtbi_check_given((const void *)function, "function", error, __func__)) return NULL;
    host_call wanted = {
        .function = function,
        .callback = callback,
        .context = context,
        .destructor = destructor,
        .queue = queue,
    };
    if (mtbi_queue_take_slots(queue, MTBI_SLOT_TRANSFER, 1, MTB_ROOM_TIMEOUT, error, __func__)) return NULL;
    mtb_command_buffer *command_buffer =
        mtbi_command_buffer_make(queue, MTBI_SLOT_TRANSFER, MTB_REFERENCES_UNRETAINED, error, __func__);
    if (command_buffer && commit(command_buffer, &wanted, error, __func__)) {
        mtb_command_buffer_release(command_buffer);
        return NULL;
    }
    return command_buffer;
}
