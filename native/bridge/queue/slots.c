/* The slots that a queue has for command buffers. Metal blocks for ever if a queue is full, even if the thread that
 * asks for another command buffer holds all the others itself. So the bridge counts too, and waits with a timeout.
 * Transfers have slots of their own: a caller that holds uncommitted command buffers keeps no transfer from being
 * committed. */
#include "core/callback_scope.h"
#include "core/clock.h"
#include "core/errors.h"
#include "queue/queue.h"

mtb_status mtbi_queue_take_slots(mtb_command_queue *queue, mtbi_slot_kind kind, size_t count, uint64_t timeout_ns,
                                 mtb_error **error, const char *function) {
    mtbi_slots *slots = &queue->slots[kind];
    uint64_t deadline = 0;
    mtb_status status = MTB_OK;
    pthread_mutex_lock(&queue->mutex);
    while (status == MTB_OK && slots->taken + count > slots->limit) {
        if (timeout_ns >= MTB_SLOT_TIMEOUT)
            status = mtbi_check_may_wait(queue, "a free slot of the queue", error, function);
        if (deadline == 0) deadline = mtbi_deadline(timeout_ns);
        if (status == MTB_OK && !mtbi_condition_wait(&queue->has_slots, &queue->mutex, deadline))
            status = mtbi_fail(error, function, MTB_TIMEOUT,
                               "the timeout passed while %zu of the queue's %zu command buffers were in use",
                               slots->taken, slots->limit);
    }
    if (status == MTB_OK) slots->taken += count;
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

void mtbi_queue_give_slot(mtb_command_queue *queue, mtbi_slot_kind kind) {
    pthread_mutex_lock(&queue->mutex);
    queue->slots[kind].taken--;
    /* Wakes all: those who wait need slots of different kinds and in different numbers. */
    pthread_cond_broadcast(&queue->has_slots);
    pthread_mutex_unlock(&queue->mutex);
}
