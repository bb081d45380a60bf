/* The staging pool. Blocks come in powers of two, so that one is never twice as large as what it is taken for. */
#include "memory.h"

#include "../clock.h"
#include "../errors.h"

#include <stdlib.h>

/* 256 bytes: what buffers are aligned to. */
enum { SMALLEST_CLASS = 8 };

static unsigned class_of(size_t size)
{
    unsigned class = SMALLEST_CLASS;
    while (class < MTBI_STAGING_CLASSES && ((size_t)1 << class) < size)
        class++;
    return class;
}

static void free_block(mtbi_block *block)
{
    mtb_buffer_release(block->buffer);
    free(block);
}

static void free_blocks(mtbi_block *blocks)
{
    while (blocks) {
        mtbi_block *next = blocks->next;
        free_block(blocks);
        blocks = next;
    }
}

/* Takes what was last used before `before` from the lists. Under the mutex. */
static mtbi_block *detach_older(mtbi_staging *staging, uint64_t before)
{
    mtbi_block *detached = NULL;
    for (unsigned class = 0; class < MTBI_STAGING_CLASSES; class++) {
        mtbi_block **link = &staging->kept[class];
        while (*link) {
            mtbi_block *block = *link;
            if (block->last_used >= before) {
                link = &block->next;
                continue;
            }
            *link = block->next;
            block->next = detached;
            detached = block;
            staging->statistics.bytes_kept -= block->size;
            staging->statistics.objects_kept--;
            staging->statistics.trimmed++;
        }
    }
    return detached;
}

uint64_t mtbi_staging_trim(mtb_memory *memory, uint64_t idle_ns)
{
    uint64_t now = mtbi_now();
    uint64_t before = idle_ns == 0 ? UINT64_MAX : idle_ns < now ? now - idle_ns : 0;
    pthread_mutex_lock(&memory->mutex);
    uint64_t held = memory->staging.statistics.bytes_kept;
    mtbi_block *detached = detach_older(&memory->staging, before);
    uint64_t freed = held - memory->staging.statistics.bytes_kept;
    pthread_mutex_unlock(&memory->mutex);
    free_blocks(detached);
    return freed;
}

static mtbi_block *make_block(mtb_memory *memory, size_t size, mtb_error **error, const char *function)
{
    mtbi_block *block = calloc(1, sizeof *block);
    if (!block) {
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a staging block");
        return NULL;
    }
    block->size = size;
    block->buffer = mtb_buffer_create(memory->device, size, MTB_STORAGE_SHARED, error);
    if (!block->buffer) {
        free(block);
        return NULL;
    }
    block->contents = mtb_buffer_contents(block->buffer);
    return block;
}

/* One of the class that is kept; NULL where there is none. Under the mutex. */
static mtbi_block *take_kept(mtbi_staging *staging, unsigned class)
{
    mtbi_block *block = staging->kept[class];
    if (!block)
        return NULL;
    staging->kept[class] = block->next;
    staging->statistics.bytes_kept -= block->size;
    staging->statistics.objects_kept--;
    return block;
}

static void count_taken(mtbi_staging *staging, const mtbi_block *block, bool is_hit)
{
    mtb_pool_statistics *statistics = &staging->statistics;
    if (is_hit)
        statistics->hits++;
    else
        statistics->misses++;
    statistics->bytes_in_use += block->size;
    statistics->objects_in_use++;
    uint64_t held = statistics->bytes_in_use + statistics->bytes_kept;
    if (held > statistics->high_water_bytes)
        statistics->high_water_bytes = held;
}

mtbi_block *mtbi_staging_take(mtb_memory *memory, size_t size, mtb_error **error, const char *function)
{
    mtbi_staging *staging = &memory->staging;
    unsigned class = class_of(size);
    if (class == MTBI_STAGING_CLASSES) {
        mtbi_fail(error, function, MTB_OUT_OF_RANGE, "%zu bytes are too many to be staged", size);
        return NULL;
    }
    pthread_mutex_lock(&memory->mutex);
    mtbi_block *block = take_kept(staging, class);
    if (block)
        count_taken(staging, block, true);
    pthread_mutex_unlock(&memory->mutex);
    if (block)
        return block;

    block = make_block(memory, (size_t)1 << class, error, function);
    if (!block && mtb_memory_trim(memory, 0) > 0) {
        mtbi_error_drop(error);
        block = make_block(memory, (size_t)1 << class, error, function);
    }
    if (!block)
        return NULL;
    pthread_mutex_lock(&memory->mutex);
    count_taken(staging, block, false);
    pthread_mutex_unlock(&memory->mutex);
    return block;
}

void mtbi_staging_give(mtb_memory *memory, mtbi_block *block)
{
    mtbi_staging *staging = &memory->staging;
    mtb_pool_statistics *statistics = &staging->statistics;
    block->last_used = mtbi_now();
    pthread_mutex_lock(&memory->mutex);
    statistics->bytes_in_use -= block->size;
    statistics->objects_in_use--;
    bool is_kept = statistics->bytes_in_use + statistics->bytes_kept + block->size <= staging->limit;
    if (is_kept) {
        mtbi_block **first = &staging->kept[class_of(block->size)];
        block->next = *first;
        *first = block;
        statistics->bytes_kept += block->size;
        statistics->objects_kept++;
    } else {
        statistics->trimmed++;
    }
    pthread_mutex_unlock(&memory->mutex);
    if (!is_kept)
        free_block(block);
}
