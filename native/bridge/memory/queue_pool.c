/* The pool of queues, which bring their shared events along. A command buffer keeps its queue alive until it has
 * completed, so a queue comes back without work. */
#include "core/checks.h"
#include "memory/memory.h"
#include "queue/queue.h"

#include <stddef.h>

static mtb_command_queue *queue_of(mtbi_pooled *object) {
    return (mtb_command_queue *)((char *)object - offsetof(mtb_command_queue, pooled));
}

static bool renew(mtbi_pooled *object) { return !object->is_changed; }

static void free_queue(mtb_memory *memory, mtbi_pooled *object) {
    (void)memory;
    mtbi_queue_destroy(&queue_of(object)->handle);
}

static const mtbi_pooled_type queues = {.renew = renew, .free = free_queue};

/* The last reference is gone. */
static void take_back(mtbi_handle *handle) {
    mtbi_pooled *object = &((mtb_command_queue *)handle)->pooled;
    mtb_memory *memory = object->owner->memory;
    mtbi_pool_give_back(object, object->size);
    mtb_memory_release(memory);
}

mtb_command_queue *mtb_memory_acquire_queue(mtb_memory *memory, mtb_error **error) {
    mtbi_error_clear(error);
    if (GIVEN(memory)) return NULL;
    mtbi_pooled *kept = mtbi_pool_take(&memory->queues, 0, 0);
    mtb_command_queue *queue = kept ? queue_of(kept) : mtb_command_queue_create(memory->device, 0, error);
    if (!queue) return NULL;
    if (kept) {
        mtbi_handle_revive(&queue->handle);
    } else {
        queue->handle.destroy = take_back;
        mtbi_pool_add(&memory->queues, &queue->pooled, &queues, 0);
    }
    mtb_memory_retain(memory);
    return queue;
}
