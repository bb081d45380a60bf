/* Pools. What comes back is kept in a list of its size, last in, first out. The memory frees it when nobody has used it
 * for a while, when too much is kept, or when memory runs short. */
#include "memory/pool.h"

#include "core/clock.h"
#include "memory/memory.h"

/* Sizes are multiples of UNIT up to eight times UNIT; from there on each power of two has eight sizes. */
enum {
    UNIT = 256,
    STEPS = 8
};

/* The class of the smallest objects with `length` bytes, and their size; MTBI_POOL_CLASSES and 0 beyond all. */
static size_t class_of(size_t length, size_t *size) {
    size_t step = UNIT, class = length ? (length - 1) / UNIT : 0;
    size_t base = 0;
    if (length > UNIT * STEPS) {
        unsigned doublings = 63 - (unsigned)__builtin_clzll((length - 1) / (UNIT * STEPS));
        base = (size_t)UNIT * STEPS << doublings;
        step = (size_t)UNIT << doublings;
        class = STEPS * (1 + doublings) + (length - 1 - base) / step;
    }
    bool is_beyond = class >= MTBI_POOL_CLASSES;
    *size = is_beyond || length == 0 ? 0 : base + ((length - 1 - base) / step + 1) * step;
    return is_beyond ? MTBI_POOL_CLASSES : class;
}

size_t mtbi_pool_size(size_t length) {
    size_t size;
    class_of(length, &size);
    return size;
}

void mtbi_pool_start(mtbi_pool *pool, mtb_memory *memory, mtb_pool_statistics *statistics) {
    pool->memory = memory;
    pool->most_bytes = pool->most_objects = UINT64_MAX;
    pool->statistics = statistics;
    pthread_mutex_lock(&memory->mutex);
    pool->next = memory->pools;
    memory->pools = pool;
    pthread_mutex_unlock(&memory->mutex);
}

void mtbi_pool_end(mtbi_pool *pool) {
    mtbi_pool_trim(pool, UINT64_MAX);
    pthread_mutex_lock(&pool->memory->mutex);
    mtbi_pool **link = &pool->memory->pools;
    while (*link != pool) link = &(*link)->next;
    *link = pool->next;
    pthread_mutex_unlock(&pool->memory->mutex);
}

/* The functions from here to the next comment are called under the mutex. */
static void list(mtbi_pooled *object, mtbi_pooled **first) {
    object->next = *first;
    *first = object;
    object->is_listed = true;
}

static void unlist(mtbi_pooled **link) {
    mtbi_pooled *object = *link;
    *link = object->next;
    object->is_listed = false;
}

/* A new object has been kept, as it were, before its first user takes it. */
void mtbi_pool_count_part(mtbi_pooled *object, size_t bytes, bool is_new) {
    mtb_pool_statistics *statistics = object->owner->statistics;
    if (is_new) {
        statistics->misses++;
        statistics->objects_kept++;
        statistics->bytes_kept += object->size;
    } else {
        statistics->hits++;
    }
    statistics->objects_kept -= object->users == 0;
    statistics->bytes_kept -= bytes;
    statistics->bytes_in_use += bytes;
    statistics->objects_in_use++;
    object->users++;
    uint64_t held = statistics->bytes_in_use + statistics->bytes_kept;
    if (held > statistics->high_water_bytes) statistics->high_water_bytes = held;
}

/* Whether the object is kept. */
static bool count_back(mtbi_pooled *object, size_t bytes, bool is_fit) {
    const mtbi_pool *pool = object->owner;
    mtb_pool_statistics *statistics = pool->statistics;
    statistics->bytes_in_use -= bytes;
    statistics->objects_in_use--;
    object->users--;
    uint64_t used = pool->limits_what_is_used ? statistics->bytes_in_use : 0;
    if (!is_fit || used + statistics->bytes_kept + bytes > pool->most_bytes ||
        statistics->objects_kept >= pool->most_objects) {
        statistics->trimmed++;
        return false;
    }
    statistics->bytes_kept += bytes;
    statistics->objects_kept += object->users == 0;
    return true;
}

/* Takes what was last used before `before` from the pool's lists, and puts it before `detached`. */
static mtbi_pooled *detach(mtbi_pool *pool, uint64_t before, mtbi_pooled *detached) {
    for (size_t class = 0; class < MTBI_POOL_CLASSES; class ++) {
        mtbi_pooled **link = &pool->lists[class];
        while (*link) {
            mtbi_pooled *object = *link;
            if (object->users > 0 || object->last_used >= before) {
                link = &object->next;
                continue;
            }
            unlist(link);
            object->next = detached;
            detached = object;
            pool->statistics->bytes_kept -= object->size;
            pool->statistics->objects_kept--;
            pool->statistics->trimmed++;
        }
    }
    return detached;
}

/* Without the mutex. Returns the bytes. */
static uint64_t free_all(mtb_memory *memory, mtbi_pooled *detached) {
    uint64_t freed = 0;
    while (detached) {
        mtbi_pooled *object = detached;
        detached = object->next;
        freed += object->size;
        object->type->free(memory, object);
    }
    return freed;
}

mtbi_pooled *mtbi_pool_take(mtbi_pool *pool, size_t least, size_t most) {
    size_t size, class = class_of(least, &size), last = class_of(most, &size);
    mtbi_pooled *taken = NULL;
    pthread_mutex_lock(&pool->memory->mutex);
    for (; class <= last && class < MTBI_POOL_CLASSES && !taken; class ++) {
        mtbi_pooled *first = pool->lists[class];
        if (!first || first->size < least || first->size > most) continue;
        taken = first;
        unlist(&pool->lists[class]);
        mtbi_pool_count_part(taken, taken->size, false);
    }
    pthread_mutex_unlock(&pool->memory->mutex);
    return taken;
}

static void own(mtbi_pool *pool, mtbi_pooled *object, const mtbi_pooled_type *type, size_t size) {
    object->owner = pool;
    object->type = type;
    object->size = size;
}

void mtbi_pool_add(mtbi_pool *pool, mtbi_pooled *object, const mtbi_pooled_type *type, size_t size) {
    own(pool, object, type, size);
    pthread_mutex_lock(&pool->memory->mutex);
    mtbi_pool_count_part(object, size, true);
    pthread_mutex_unlock(&pool->memory->mutex);
}

void mtbi_pool_add_whole(mtbi_pool *pool, mtbi_pooled *whole, const mtbi_pooled_type *type, size_t size) {
    own(pool, whole, type, size);
    list(whole, &pool->lists[0]);
}

void mtbi_pool_give_back(mtbi_pooled *object, size_t bytes) {
    mtb_memory *memory = object->owner->memory;
    bool is_fit = !object->type->renew || object->type->renew(object);
    uint64_t now = mtbi_now();
    pthread_mutex_lock(&memory->mutex);
    object->last_used = now;
    bool is_kept = count_back(object, bytes, is_fit);
    size_t size;
    if (is_kept && !object->is_listed) list(object, &object->owner->lists[class_of(object->size, &size)]);
    pthread_mutex_unlock(&memory->mutex);
    if (is_kept)
        mtbi_memory_expect_idle(memory);
    else
        object->type->free(memory, object);
}

uint64_t mtbi_pool_trim(mtbi_pool *pool, uint64_t before) {
    pthread_mutex_lock(&pool->memory->mutex);
    mtbi_pooled *detached = detach(pool, before, NULL);
    pthread_mutex_unlock(&pool->memory->mutex);
    return free_all(pool->memory, detached);
}

uint64_t mtbi_pools_trim(mtb_memory *memory, uint64_t before) {
    mtbi_pooled *detached = NULL;
    pthread_mutex_lock(&memory->mutex);
    for (mtbi_pool *pool = memory->pools; pool; pool = pool->next) detached = detach(pool, before, detached);
    pthread_mutex_unlock(&memory->mutex);
    return free_all(memory, detached);
}
