/* The room that a queue has for command buffers. Metal blocks for ever where a queue is full, also when all of its
 * command buffers are in the hands of the one thread that asks for another: so the bridge counts for itself, and waits
 * with a timeout. Transfers have room of their own: whoever holds command buffers that it has not committed does not
 * keep a transfer from being committed. */
#include "core/callback_scope.h"
#include "core/clock.h"
#include "core/errors.h"

mtb_status mtbi_queue_take_room(mtb_queue *queue, mtbi_room_kind kind, size_t count, uint64_t timeout_ns,
                                mtb_error **error, const char *function) {
    mtbi_room *room = &queue->rooms[kind];
    uint64_t deadline = 0;
    mtb_status status = MTB_OK;
    pthread_mutex_lock(&queue->mutex);
    while (status == MTB_OK && room->taken + count > room->limit) {
        if (timeout_ns >= MTB_ROOM_TIMEOUT) status = mtbi_check_may_wait(queue, "room in the queue", error, function);
        if (deadline == 0) deadline = mtbi_deadline(timeout_ns);
        if (status == MTB_OK && !mtbi_condition_wait(&queue->has_room, &queue->mutex, deadline))
            status =
                mtbi_fail(error, function, MTB_TIMEOUT, "all %zu command buffers of the queue are in use", room->limit);
    }
    if (status == MTB_OK) room->taken += count;
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

void mtbi_queue_give_room(mtb_queue *queue, mtbi_room_kind kind) {
    pthread_mutex_lock(&queue->mutex);
    queue->rooms[kind].taken--;
    /* Not only one: those who wait need room of different kinds and in different numbers. */
    pthread_cond_broadcast(&queue->has_room);
    pthread_mutex_unlock(&queue->mutex);
}
