/* The room that a queue has for command buffers. Metal blocks for ever where a queue is full, also when all of its
 * command buffers are in the hands of the one thread that asks for another: so the bridge counts for itself, and waits
 * with a timeout. */
#include "clock.h"
#include "handles.h"

bool mtbi_queue_take_room(mtb_queue *queue, uint64_t timeout_ns)
{
    uint64_t deadline = 0;
    pthread_mutex_lock(&queue->mutex);
    while (queue->uncompleted >= queue->limit) {
        if (deadline == 0)
            deadline = mtbi_deadline(timeout_ns);
        if (!mtbi_condition_wait(&queue->has_room, &queue->mutex, deadline))
            break;
    }
    bool has_room = queue->uncompleted < queue->limit;
    if (has_room)
        queue->uncompleted++;
    pthread_mutex_unlock(&queue->mutex);
    return has_room;
}

void mtbi_queue_give_room(mtb_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->uncompleted--;
    pthread_cond_signal(&queue->has_room);
    pthread_mutex_unlock(&queue->mutex);
}
