/* Command queues. */
#import "queue/queue.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"

/* Metal's own limit if none is asked for. */
static const size_t default_limit = 64;
/* Metal documents no bound. This one catches a count that can only be a mistake. */
static const size_t largest_limit = 1 << 16;
/* Transfers have as many slots as the caller's own command buffers, but no fewer than this: a caller that does not wait
 * for transfers should not have to. */
static const size_t least_transfers = 1024;

mtb_command_queue *mtb_command_queue_create(mtb_device *device, size_t max_command_buffers, mtb_error **error) {
    mtb_command_queue *queue = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device)) return NULL;
    if (max_command_buffers > largest_limit) {
        FAIL(error, MTB_OUT_OF_RANGE, "a queue of %zu command buffers is too large: the largest has %zu",
             max_command_buffers, largest_limit);
        return NULL;
    }
    queue = mtbi_handle_create(MTB_HANDLE_QUEUE, sizeof *queue, mtbi_queue_destroy, error, __func__);
    if (!queue) return NULL;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->has_slots, NULL);
    pthread_mutex_init(&queue->functions.mutex, NULL);
    queue->device = mtb_device_retain(device);
    size_t limit = max_command_buffers ? max_command_buffers : default_limit;
    queue->slots[MTBI_SLOT_CALLER].limit = limit;
    size_t transfers = limit > least_transfers ? limit : least_transfers;
    queue->slots[MTBI_SLOT_TRANSFER].limit = transfers;
    queue->metal = [device->metal newCommandQueueWithMaxCommandBufferCount:limit + transfers];
    if (!queue->metal) {
        FAIL(error, MTB_OUT_OF_MEMORY, "Metal could not make a queue of %zu command buffers", limit);
        mtb_command_queue_release(queue);
        return NULL;
    }
    return queue;
    MTBI_LEAVE((mtb_command_queue_release(queue), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

void mtbi_queue_destroy(mtbi_handle *handle) {
    mtb_command_queue *queue = (mtb_command_queue *)handle;
    MTBI_ENTER
    [queue->metal release];
    mtb_event_release(queue->functions.event);
    mtb_event_release(queue->host_copies.event);
    pthread_mutex_destroy(&queue->functions.mutex);
    mtb_device_release(queue->device);
    pthread_cond_destroy(&queue->has_slots);
    pthread_mutex_destroy(&queue->mutex);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_status mtb_command_queue_set_label(mtb_command_queue *queue, const char *label, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(queue));
    queue->pooled.is_changed = true;
    return mtbi_set_label(queue->metal, label, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

char *mtb_command_queue_copy_label(const mtb_command_queue *queue) {
    MTBI_ENTER
    return queue ? mtbi_copy_label(queue->metal) : NULL;
    MTBI_LEAVE(NULL)
}
