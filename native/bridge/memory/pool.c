/* Pools of buffers. What has been released is kept by its size for the next who needs as much; it goes back to Metal
 * when it has not been used for a while, when too much is kept, or when memory runs short. */
#include "memory/pool.h"

#include "core/checks.h"
#include "core/clock.h"
#include "memory/memory.h"

/* Sizes are multiples of this up to eight times of it; from there on each power of two has eight. */
enum {
    UNIT = 256,
    STEPS = 8
};

/* The class of the smallest buffers that have room for `length` bytes, and their size; MTBI_POOL_CLASSES beyond all. */
static size_t class_of(size_t length, size_t *size) {
    size_t step = UNIT, class = (length - 1) / UNIT;
    size_t base = 0;
    if (length > UNIT * STEPS) {
        unsigned doublings = 63 - (unsigned)__builtin_clzll((length - 1) / (UNIT * STEPS));
        base = (size_t)UNIT * STEPS << doublings;
        step = (size_t)UNIT << doublings;
        class = STEPS * (1 + doublings) + (length - 1 - base) / step;
    }
    if (class < MTBI_POOL_CLASSES) *size = base + ((length - 1 - base) / step + 1) * step;
    return class < MTBI_POOL_CLASSES ? class : MTBI_POOL_CLASSES;
}

void mtbi_pool_count_let_go(mtbi_pool *pool, size_t bytes) {
    pool->statistics->bytes_kept -= bytes;
    pool->statistics->objects_kept--;
}

void mtbi_pool_count_taken(mtbi_pool *pool, size_t bytes, bool was_kept) {
    mtb_pool_statistics *statistics = pool->statistics;
    if (was_kept)
        statistics->hits++;
    else
        statistics->misses++;
    statistics->bytes_in_use += bytes;
    statistics->objects_in_use++;
    uint64_t held = statistics->bytes_in_use + statistics->bytes_kept;
    if (held > statistics->high_water_bytes) statistics->high_water_bytes = held;
}

bool mtbi_pool_count_back(mtbi_pool *pool, size_t bytes) {
    mtb_pool_statistics *statistics = pool->statistics;
    statistics->bytes_in_use -= bytes;
    statistics->objects_in_use--;
    uint64_t used = pool->counts_what_is_used ? statistics->bytes_in_use : 0;
    if (used + statistics->bytes_kept + bytes > pool->limit) {
        statistics->trimmed++;
        return false;
    }
    statistics->bytes_kept += bytes;
    statistics->objects_kept++;
    return true;
}

/* Under the mutex. */
static mtb_buffer *take_kept(mtbi_pool *pool, size_t length) {
    size_t size, first = class_of(length, &size), largest = length < UNIT / 2 ? UNIT : 2 * length;
    size_t last = class_of(largest, &size);
    for (size_t class = first; class <= last && class < MTBI_POOL_CLASSES; class ++) {
        mtb_buffer *buffer = pool->kept[class];
        if (!buffer || buffer->capacity < length || buffer->capacity > largest) continue;
        pool->kept[class] = buffer->next;
        mtbi_pool_count_let_go(pool, buffer->capacity);
        return buffer;
    }
    return NULL;
}

/* Back to Metal. */
static void free_buffer(mtb_memory *memory, mtb_buffer *buffer) {
    mtbi_memory_unreserve(memory, buffer->capacity);
    mtbi_buffer_free(buffer);
}

/* A new buffer, of `size` bytes of the budget. Where there is no memory, what is kept goes first. */
static mtb_status make(mtbi_pool *pool, size_t size, mtb_buffer **made, mtb_error **error, const char *function) {
    REQUIRE(mtbi_memory_reserve(pool->memory, size, error, function));
    mtb_buffer *buffer = mtb_buffer_create(pool->memory->device, size, pool->mode, error);
    if (!buffer && mtb_memory_trim(pool->memory, 0) > 0) {
        mtbi_error_drop(error);
        buffer = mtb_buffer_create(pool->memory->device, size, pool->mode, error);
    }
    if (!buffer) {
        mtbi_memory_unreserve(pool->memory, size);
        return MTB_OUT_OF_MEMORY;
    }
    buffer->capacity = size;
    buffer->home = &pool->home;
    *made = buffer;
    return MTB_OK;
}

mtb_status mtbi_pool_take(mtbi_pool *pool, size_t length, mtb_buffer **taken, mtb_error **error, const char *function) {
    mtb_memory *memory = pool->memory;
    size_t size = 0;
    if (length > memory->device->info.max_buffer_length || class_of(length, &size) == MTBI_POOL_CLASSES)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "a buffer of %zu bytes, where the device's largest is %zu",
                         length, (size_t)memory->device->info.max_buffer_length);
    if (size > memory->device->info.max_buffer_length) size = length;
    pthread_mutex_lock(&memory->mutex);
    mtb_buffer *buffer = take_kept(pool, length);
    if (buffer) mtbi_pool_count_taken(pool, buffer->capacity, true);
    pthread_mutex_unlock(&memory->mutex);
    if (buffer) {
        mtbi_handle_revive(&buffer->handle);
    } else {
        REQUIRE(make(pool, size, &buffer, error, function));
        pthread_mutex_lock(&memory->mutex);
        mtbi_pool_count_taken(pool, buffer->capacity, false);
        pthread_mutex_unlock(&memory->mutex);
    }
    buffer->length = length;
    mtb_memory_retain(memory);
    *taken = buffer;
    return MTB_OK;
}

/* Whether the buffer is kept. Under the mutex. */
static bool keep(mtbi_pool *pool, mtb_buffer *buffer) {
    if (!mtbi_pool_count_back(pool, buffer->capacity)) return false;
    size_t size;
    mtb_buffer **first = &pool->kept[class_of(buffer->capacity, &size)];
    buffer->next = *first;
    *first = buffer;
    return true;
}

void mtbi_pool_take_back(mtbi_home *home, void *handle) {
    mtbi_pool *pool = (mtbi_pool *)home;
    mtb_buffer *buffer = handle;
    mtb_memory *memory = pool->memory;
    if (buffer->is_labelled) mtb_buffer_set_label(buffer, NULL, NULL);
    buffer->is_labelled = false;
    buffer->last_used = mtbi_now();
    pthread_mutex_lock(&memory->mutex);
    bool is_kept = keep(pool, buffer);
    pthread_mutex_unlock(&memory->mutex);
    if (is_kept)
        mtbi_memory_expect_idle(memory);
    else
        free_buffer(memory, buffer);
    mtb_memory_release(memory);
}

/* Takes what was last used before `before` from the lists. Under the mutex. */
static mtb_buffer *detach(mtbi_pool *pool, uint64_t before) {
    mtb_buffer *detached = NULL;
    for (size_t class = 0; class < MTBI_POOL_CLASSES; class ++) {
        mtb_buffer **link = &pool->kept[class];
        while (*link) {
            mtb_buffer *buffer = *link;
            if (buffer->last_used >= before) {
                link = &buffer->next;
                continue;
            }
            *link = buffer->next;
            buffer->next = detached;
            detached = buffer;
            mtbi_pool_count_let_go(pool, buffer->capacity);
            pool->statistics->trimmed++;
        }
    }
    return detached;
}

uint64_t mtbi_pool_trim(mtbi_pool *pool, uint64_t before) {
    uint64_t freed = 0;
    pthread_mutex_lock(&pool->memory->mutex);
    mtb_buffer *detached = detach(pool, before);
    pthread_mutex_unlock(&pool->memory->mutex);
    while (detached) {
        mtb_buffer *next = detached->next;
        freed += detached->capacity;
        free_buffer(pool->memory, detached);
        detached = next;
    }
    return freed;
}
