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
    mtb_command_queue *queue;
    uint64_t number;
} host_call;

static void call(const mtb_completion *completion, void *context) {
    host_call *what = context;
    if (completion->status == MTB_COMMAND_BUFFER_COMPLETED) what->function(what->context);
    mtbi_queue_end_function(what->queue, what->number);
}

static void drop_context(const host_call *what) {
    if (what->destructor) what->destructor(what->context);
}

static void free_call(void *context) {
    drop_context(context);
    free(context);
}

/* Adds the call to the command buffer, and commits it. Empties `wanted` if the command buffer has taken it over. */
static mtb_status commit(mtb_command_buffer *command_buffer, host_call *wanted, mtb_error **error,
                         const char *function) {
    host_call *what = malloc(sizeof *what);
    if (!what) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a host function");
    *what = *wanted;
    const mtbi_callback own = {.callback = call, .context = what, .destructor = free_call};
    mtb_status status = mtbi_command_buffer_add_callback(command_buffer, own, error, function);
    if (status) {
        free(what);
        return status;
    }
    *wanted = (host_call){0};
    const mtbi_callback callers = {.callback = what->callback, .context = what->context};
    if (callers.callback) REQUIRE(mtbi_command_buffer_add_callback(command_buffer, callers, error, function));
    return mtbi_command_buffer_commit(command_buffer, &what->number, error, function);
}

static mtb_command_buffer *enqueue(host_call *wanted, mtb_error **error, const char *function) {
    mtb_command_queue *queue = wanted->queue;
    if (mtbi_check_given(queue, "queue", error, function) ||
        mtbi_check_given((const void *)wanted->function, "function", error, function) ||
        mtbi_queue_take_slots(queue, MTBI_SLOT_TRANSFER, 1, MTB_SLOT_TIMEOUT, error, function))
        return NULL;
    mtb_command_buffer *command_buffer =
        mtbi_command_buffer_make(queue, MTBI_SLOT_TRANSFER, MTB_REFERENCES_UNRETAINED, error, function);
    if (command_buffer && commit(command_buffer, wanted, error, function)) {
        mtb_command_buffer_release(command_buffer);
        return NULL;
    }
    return command_buffer;
}

mtb_command_buffer *mtb_command_queue_call_host_function(mtb_command_queue *queue, mtb_host_function function,
                                                         mtb_completion_callback callback, void *context,
                                                         mtb_context_destructor destructor, mtb_error **error) {
    mtbi_error_clear(error);
    host_call wanted = {
        .function = function,
        .callback = callback,
        .context = context,
        .destructor = destructor,
        .queue = queue,
    };
    mtb_command_buffer *command_buffer = enqueue(&wanted, error, __func__);
    drop_context(&wanted);
    return command_buffer;
}
