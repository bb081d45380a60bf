/* The part of a command buffer that Metal does not know: who waits for it and what it owes. */
#include "command/command_buffer.h"
#include "core/checks.h"
#include "core/clock.h"

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
    size_t count = command_buffer->kept_count;
    if (!buffer->home || (count > 0 && command_buffer->kept[count - 1] == buffer)) return MTB_OK;
    if (count == command_buffer->kept_capacity) {
        size_t capacity = count ? 2 * count : 16;
        mtb_buffer **grown = realloc(command_buffer->kept, capacity * sizeof(mtb_buffer *));
        if (!grown)
            return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu buffers of pools", capacity);
        command_buffer->kept = grown;
        command_buffer->kept_capacity = capacity;
    }
    command_buffer->kept[command_buffer->kept_count++] = mtb_buffer_retain(buffer);
    return MTB_OK;
}

void mtbi_command_buffer_forget(mtb_command_buffer *command_buffer) {
    for (size_t i = 0; i < command_buffer->kept_count; i++) mtb_buffer_release(command_buffer->kept[i]);
    free(command_buffer->kept);
    command_buffer->kept = NULL;
    command_buffer->kept_count = command_buffer->kept_capacity = 0;
    while (command_buffer->callbacks) {
        mtbi_callback *callback = command_buffer->callbacks;
        command_buffer->callbacks = callback->next;
        if (callback->destructor) callback->destructor(callback->context);
        free(callback);
    }
    mtbi_steps_drop(&command_buffer->steps);
}

void mtbi_command_buffer_leave_queue(mtb_command_buffer *command_buffer) {
    if (!atomic_exchange(&command_buffer->has_left_queue, true))
        mtbi_queue_give_room(command_buffer->queue, command_buffer->room);
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

bool mtbi_command_buffer_await(mtb_command_buffer *command_buffer, uint64_t timeout_ns) {
    uint64_t deadline = mtbi_deadline(timeout_ns);
    pthread_mutex_lock(&command_buffer->mutex);
    while (!command_buffer->has_completed)
        if (!mtbi_condition_wait(&command_buffer->completion, &command_buffer->mutex, deadline)) break;
    bool has_completed = command_buffer->has_completed;
    pthread_mutex_unlock(&command_buffer->mutex);
    return has_completed;
}
