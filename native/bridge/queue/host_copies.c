/* Copies that the CPU makes at the end of transfers. */
#include "queue/host_copies.h"

#include "core/errors.h"
#include "event/event.h"

mtb_status mtbi_host_copies_prepare(mtb_command_queue *queue, mtb_error **error) {
    mtbi_host_copies *copies = &queue->host_copies;
    pthread_mutex_lock(&queue->mutex);
    if (!copies->event) copies->event = mtb_event_create(queue->device, error);
    mtb_status status = copies->event ? MTB_OK : mtbi_last_failure();
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

uint64_t mtbi_host_copies_to_await(const mtb_command_queue *queue) {
    uint64_t committed = atomic_load(&queue->host_copies.committed);
    return committed > atomic_load(&queue->host_copies.made) ? committed : 0;
}

void mtbi_host_copies_begin(mtb_command_queue *queue) { atomic_fetch_add(&queue->host_copies.committed, 1); }

void mtbi_host_copies_end(mtb_command_queue *queue) {
    mtbi_event_raise(queue->host_copies.event, atomic_fetch_add(&queue->host_copies.made, 1) + 1);
}
