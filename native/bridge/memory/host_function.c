/* Functions of the caller's in a queue's order. Two command buffers: the function is the first one's callback, and
 * the second holds up what is committed later until the function has returned and the CPU signals. */
#include "../checks.h"
#include "../command_buffer.h"

#include <stdlib.h>

typedef struct host_call {
    mtb_host_function function;
    mtb_completion_callback callback;
    void *context;
    mtb_context_destructor destructor;
    mtb_event *event;
    uint64_t value;
    /* Until then the context is the caller's. */
    bool is_committed;
} host_call;

static void call(const mtb_completion *completion, void *context)
{
    host_call *what = context;
    if (completion->status == MTB_COMMAND_BUFFER_COMPLETED)
        what->function(what->context);
    mtb_event_signal(what->event, what->value, NULL);
}

static void free_call(void *context)
{
    host_call *what = context;
    if (what->is_committed && what->destructor)
        what->destructor(what->context);
    mtb_event_release(what->event);
    free(what);
}

/* Both command buffers, ready to be committed. */
static mtb_status encode(mtb_queue *queue, const host_call *wanted, mtb_command_buffer *first,
                         mtb_command_buffer *second, host_call **made, mtb_error **error, const char *function)
{
    host_call *what = malloc(sizeof *what);
    if (!what)
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a host function");
    *what = *wanted;
    what->event = mtb_event_retain(queue->host_event);
    what->value = queue->host_value + 1;
    mtb_status status = mtb_command_buffer_add_completed_callback(first, call, what, free_call, error);
    if (status) {
        free_call(what);
        return status;
    }
    *made = what;
    if (what->callback)
        REQUIRE(mtb_command_buffer_add_completed_callback(first, what->callback, what->context, NULL, error));
    return mtb_command_buffer_encode_wait(second, what->event, what->value, error);
}

/* Under the queue's host mutex, so that values rise in the order in which the queue waits for them. */
static mtb_status commit(mtb_queue *queue, const host_call *wanted, mtb_command_buffer *first,
                         mtb_command_buffer *second, mtb_error **error, const char *function)
{
    host_call *what = NULL;
    if (!queue->host_event)
        queue->host_event = mtb_event_create(queue->device, error);
    if (!queue->host_event)
        return MTB_OUT_OF_MEMORY;
    REQUIRE(encode(queue, wanted, first, second, &what, error, function));
    what->is_committed = true;
    queue->host_value++;
    REQUIRE(mtb_command_buffer_commit(first, error));
    return mtb_command_buffer_commit(second, error);
}

mtb_command_buffer *mtb_queue_call_host_function(mtb_queue *queue, mtb_host_function function,
                                                 mtb_completion_callback callback, void *context,
                                                 mtb_context_destructor destructor, mtb_error **error)
{
    mtbi_error_clear(error);
    if (GIVEN(queue) || mtbi_check_given((const void *)function, "function", error, __func__))
        return NULL;
    host_call wanted = {
        .function = function,
        .callback = callback,
        .context = context,
        .destructor = destructor,
    };
    if (mtbi_queue_take_room(queue, MTBI_ROOM_TRANSFERS, 2, MTB_FOREVER, error, __func__))
        return NULL;
    mtb_command_buffer *first =
        mtbi_command_buffer_make(queue, MTBI_ROOM_TRANSFERS, MTB_REFERENCES_UNRETAINED, error, __func__);
    mtb_command_buffer *second =
        first ? mtbi_command_buffer_make(queue, MTBI_ROOM_TRANSFERS, MTB_REFERENCES_UNRETAINED, error, __func__) : NULL;
    if (!first)
        mtbi_queue_give_room(queue, MTBI_ROOM_TRANSFERS);
    mtb_status status = MTB_OUT_OF_MEMORY;
    if (second) {
        pthread_mutex_lock(&queue->host_mutex);
        status = commit(queue, &wanted, first, second, error, __func__);
        pthread_mutex_unlock(&queue->host_mutex);
    }
    mtb_command_buffer_release(second);
    if (status) {
        mtb_command_buffer_release(first);
        return NULL;
    }
    return first;
}
