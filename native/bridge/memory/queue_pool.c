/* The queue pool. A command buffer keeps its queue until it has completed, so a queue comes back without work. */
#include "memory/queue_pool.h"

#include "core/checks.h"
#include "core/clock.h"
#include "memory/memory.h"

/* Metal makes a limited number of queues for a process. */
static const uint64_t most_kept = 16;

static mtb_queue *take_kept(mtb_memory *memory) {
    mtbi_queue_pool *pool = &memory->queues;
    pthread_mutex_lock(&memory->mutex);
    mtb_queue *queue = pool->kept;
    if (queue) {
        pool->kept = queue->next;
        pool->statistics.objects_kept--;
        pool->statistics.hits++;
        pool->statistics.objects_in_use++;
    }
    pthread_mutex_unlock(&memory->mutex);
    if (queue) mtbi_handle_revive(&queue->handle);
    return queue;
}

mtb_queue *mtb_memory_acquire_queue(mtb_memory *memory, mtb_error **error) {
    mtbi_error_clear(error);
    if (GIVEN(memory)) return NULL;
    mtb_queue *queue = take_kept(memory);
    if (!queue) {
        queue = mtb_queue_create(memory->device, 0, error);
        if (!queue) return NULL;
        queue->home = &memory->queues.home;
        pthread_mutex_lock(&memory->mutex);
        memory->queues.statistics.misses++;
        memory->queues.statistics.objects_in_use++;
        pthread_mutex_unlock(&memory->mutex);
    }
    mtb_memory_retain(memory);
    return queue;
}

void mtbi_queue_pool_take_back(mtbi_home *home, void *handle) {
    mtbi_queue_pool *pool = (mtbi_queue_pool *)home;
    mtb_memory *memory = pool->memory;
    mtb_queue *queue = handle;
    queue->last_used = mtbi_now();
    pthread_mutex_lock(&memory->mutex);
    pool->statistics.objects_in_use--;
    bool is_kept = !queue->is_changed && pool->statistics.objects_kept < most_kept;
    if (is_kept) {
        queue->next = pool->kept;
        pool->kept = queue;
        pool->statistics.objects_kept++;
    } else {
        pool->statistics.trimmed++;
    }
    pthread_mutex_unlock(&memory->mutex);
    if (is_kept)
        mtbi_memory_expect_idle(memory);
    else
        mtbi_queue_free(queue);
    mtb_memory_release(memory);
}

void mtbi_queue_pool_trim(mtbi_queue_pool *pool, uint64_t before) {
    mtb_queue *detached = NULL;
    pthread_mutex_lock(&pool->memory->mutex);
    mtb_queue **link = &pool->kept;
    while (*link) {
        mtb_queue *queue = *link;
        if (queue->last_used >= before) {
            link = &queue->next;
            continue;
        }
        *link = queue->next;
        queue->next = detached;
        detached = queue;
        pool->statistics.objects_kept--;
        pool->statistics.trimmed++;
    }
    pthread_mutex_unlock(&pool->memory->mutex);
    while (detached) {
        mtb_queue *next = detached->next;
        mtbi_queue_free(detached);
        detached = next;
    }
}
