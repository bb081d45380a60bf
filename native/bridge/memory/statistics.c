/* The sums of what transfers and pools have done. */
#include "memory/memory.h"

static const char *const kind_names[MTB_TRANSFER_KIND_COUNT] = {
    [MTB_TRANSFER_HOST_TO_SHARED] = "host to shared",
    [MTB_TRANSFER_HOST_TO_MANAGED] = "host to managed",
    [MTB_TRANSFER_HOST_TO_PRIVATE] = "host to private",
    [MTB_TRANSFER_SHARED_TO_HOST] = "shared to host",
    [MTB_TRANSFER_MANAGED_TO_HOST] = "managed to host",
    [MTB_TRANSFER_PRIVATE_TO_HOST] = "private to host",
    [MTB_TRANSFER_HOST_TO_HOST] = "host to host",
    [MTB_TRANSFER_BUFFER_TO_BUFFER] = "buffer to buffer",
    [MTB_TRANSFER_PEER] = "peer",
    [MTB_TRANSFER_PEER_STAGED] = "peer, staged",
    [MTB_TRANSFER_FILL] = "fill",
};

const char *mtb_transfer_kind_name(mtb_transfer_kind kind) {
    return (uint32_t)kind < MTB_TRANSFER_KIND_COUNT ? kind_names[kind] : "unknown";
}

void mtbi_memory_count(mtb_memory *memory, const mtb_transfer_statistics *sums, mtbi_pair **pairs) {
    pthread_mutex_lock(&memory->mutex);
    for (size_t i = 0; i < MTB_TRANSFER_KIND_COUNT; i++) {
        memory->transfers[i].count += sums[i].count;
        memory->transfers[i].bytes += sums[i].bytes;
        memory->transfers[i].nanoseconds += sums[i].nanoseconds;
    }
    mtbi_pairs_move(pairs, &memory->pairs);
    pthread_mutex_unlock(&memory->mutex);
}

void mtb_memory_get_statistics(const mtb_memory *memory, mtb_memory_statistics *statistics) {
    if (!statistics) return;
    *statistics = (mtb_memory_statistics){0};
    if (!memory) return;
    /* Taking the lock changes nothing that users of the memory see. */
    pthread_mutex_t *mutex = &((mtb_memory *)memory)->mutex;
    pthread_mutex_lock(mutex);
    for (size_t i = 0; i < MTB_TRANSFER_KIND_COUNT; i++) statistics->transfers[i] = memory->transfers[i];
    statistics->staging = memory->staging_statistics;
    statistics->buffers = memory->buffer_statistics;
    statistics->queues = memory->queue_statistics;
    statistics->held = memory->held;
    statistics->budget = memory->budget;
    statistics->command_buffers = memory->command_buffers;
    pthread_mutex_unlock(mutex);
}

static void reset_pool(mtb_pool_statistics *pool) {
    pool->hits = pool->misses = pool->trimmed = 0;
    pool->high_water_bytes = pool->bytes_in_use + pool->bytes_kept;
}

void mtb_memory_reset_statistics(mtb_memory *memory) {
    if (!memory) return;
    pthread_mutex_lock(&memory->mutex);
    for (size_t i = 0; i < MTB_TRANSFER_KIND_COUNT; i++) memory->transfers[i] = (mtb_transfer_statistics){0};
    mtbi_pairs_free(memory->pairs);
    memory->pairs = NULL;
    reset_pool(&memory->staging_statistics);
    reset_pool(&memory->buffer_statistics);
    reset_pool(&memory->queue_statistics);
    memory->command_buffers = 0;
    pthread_mutex_unlock(&memory->mutex);
}
