/* The part of a command buffer that Metal does not know: who waits for it and what it owes. */
#include "command/command_buffer.h"

#include "core/checks.h"
#include "core/clock.h"

#include <stdio.h>
#include <stdlib.h>

mtb_status mtbi_command_buffer_check_open(const mtb_command_buffer *command_buffer, mtb_error **error,
                                          const char *function) {
    if (atomic_load(&command_buffer->is_committed))
        return mtbi_fail(error, function, MTB_INVALID_STATE, "the command buffer has been committed");
    if (command_buffer->encoder)
        return mtbi_fail(error, function, MTB_INVALID_STATE, "an encoder of the command buffer has not been ended");
    return MTB_OK;
}

mtb_status mtbi_command_buffer_add_callback(mtb_command_buffer *command_buffer, mtbi_callback callback,
                                            mtb_error **error, const char *function) {
    mtbi_callback *added = malloc(sizeof *added);
    if (!added) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a callback");
    *added = callback;
    added->next = NULL;
    mtbi_callback **end = &command_buffer->callbacks;
    while (*end) end = &(*end)->next;
    *end = added;
    return MTB_OK;
}

mtb_status mtbi_command_buffer_keep(mtb_command_buffer *command_buffer, mtb_buffer *buffer, mtb_error **error,
                                    const char *function) {
    if (!buffer->pooled.owner) return MTB_OK;
    return mtbi_references_add(&command_buffer->buffers, &buffer->handle, error, function);
}

void mtbi_callback_drop(const mtbi_callback *callback) {
    if (callback->destructor) callback->destructor(callback->context);
}

/* As mtb_command_buffer_add_completed_callback, except that on failure the context is still the caller's. */
static mtb_status add_given(mtb_command_buffer *command_buffer, const mtbi_callback *given, mtb_error **error,
                            const char *function) {
    REQUIRE(mtbi_check_given(command_buffer, "command_buffer", error, function));
    REQUIRE(mtbi_check_given((const void *)given->callback, "callback", error, function));
    if (atomic_load(&command_buffer->is_committed))
        return mtbi_fail(error, function, MTB_INVALID_STATE, "the command buffer has been committed");
    return mtbi_command_buffer_add_callback(command_buffer, *given, error, function);
}

mtb_status mtb_command_buffer_add_completed_callback(mtb_command_buffer *command_buffer,
                                                     mtb_completion_callback callback, void *context,
                                                     mtb_context_destructor destructor, mtb_error **error) {
    mtbi_error_clear(error);
    const mtbi_callback given = {.callback = callback, .context = context, .destructor = destructor};
    mtb_status status = add_given(command_buffer, &given, error, __func__);
    if (status) mtbi_callback_drop(&given);
    return status;
}

void mtbi_command_buffer_forget(mtb_command_buffer *command_buffer) {
    mtbi_references_release(&command_buffer->buffers);
    while (command_buffer->callbacks) {
        mtbi_callback *callback = command_buffer->callbacks;
        command_buffer->callbacks = callback->next;
        mtbi_callback_drop(callback);
        free(callback);
    }
    mtbi_steps_drop(&command_buffer->steps);
}

void mtbi_command_buffer_leave_queue(mtb_command_buffer *command_buffer) {
    if (!atomic_exchange(&command_buffer->has_left_queue, true))
        mtbi_queue_give_slot(command_buffer->queue, command_buffer->slot);
}

void mtbi_command_buffer_announce(mtb_command_buffer *command_buffer) {
    atomic_fetch_sub(&command_buffer->queue->running, 1);
    pthread_mutex_lock(&command_buffer->mutex);
    command_buffer->has_completed = true;
    /* Inside the lock: whoever is woken may release the last reference of its own, but this thread's caller still has
     * one. */
    pthread_cond_broadcast(&command_buffer->completion);
    pthread_mutex_unlock(&command_buffer->mutex);
}

/* The waiting thread is in no callback, so a callback that joins it hangs without an error. */
static void report_long_callback(mtb_command_queue *queue) {
    uint64_t since = atomic_load(&queue->callback_since);
    if (since == 0 || mtbi_now() - since < MTBI_LONG_CALLBACK) return;
    if (!atomic_compare_exchange_strong(&queue->callback_since, &since, 0)) return;
    fprintf(
        stderr,
        "metal-bridge: a thread waits for a command buffer behind a callback that has run for %.0f s. If the callback "
        "waits for that thread, neither ends.\n",
        (double)(mtbi_now() - since) * 1e-9);
}

bool mtbi_command_buffer_await(mtb_command_buffer *command_buffer, uint64_t timeout_ns) {
    uint64_t deadline = mtbi_deadline(timeout_ns);
    pthread_mutex_lock(&command_buffer->mutex);
    while (!command_buffer->has_completed)
        if (!mtbi_condition_wait(&command_buffer->completion, &command_buffer->mutex, deadline)) break;
    bool has_completed = command_buffer->has_completed;
    pthread_mutex_unlock(&command_buffer->mutex);
    if (!has_completed && timeout_ns > 0) report_long_callback(command_buffer->queue);
    return has_completed;
}
