/* What all pools do: a pool keeps unused objects for the next user, within limits, and counts what it does. */
#ifndef MTBI_POOL_H
#define MTBI_POOL_H

#include "core/handles.h"
#include "core/pooled.h"

/* Sizes grow by an eighth of a power of two: see pool.c. */
enum {
    MTBI_POOL_CLASSES = 312
};

typedef struct mtbi_pooled_type {
    /* Makes an object that comes back fit for its next user; false if it cannot be. NULL: it always is. */
    bool (*renew)(mtbi_pooled *object);
    /* Frees the object. Its pool may be gone by then. */
    void (*free)(mtb_memory *memory, mtbi_pooled *object);
} mtbi_pooled_type;

typedef struct mtbi_pool {
    mtb_memory *memory;
    /* The memory's next pool. */
    struct mtbi_pool *next;
    /* What is kept fits into both limits: by itself, or together with what is in use. */
    uint64_t most_bytes;
    uint64_t most_objects;
    bool limits_what_is_used;
    /* Some pools share their statistics. Under the memory's mutex, as the lists. */
    mtb_pool_statistics *statistics;
    mtbi_pooled *lists[MTBI_POOL_CLASSES];
} mtbi_pool;

/* An empty pool without limits, which the memory trims with its others. */
void mtbi_pool_start(mtbi_pool *pool, mtb_memory *memory, mtb_pool_statistics *statistics);
/* Nothing of the pool is in use: frees what it keeps, and the memory forgets it. */
void mtbi_pool_end(mtbi_pool *pool);

/* The size of the smallest objects with at least `length` bytes; 0 if that is beyond all classes. */
size_t mtbi_pool_size(size_t length);
/* Takes a kept object of `least` to `most` bytes; NULL if there is none. */
mtbi_pooled *mtbi_pool_take(mtbi_pool *pool, size_t least, size_t most);
/* A new object that is in use. */
void mtbi_pool_add(mtbi_pool *pool, mtbi_pooled *object, const mtbi_pooled_type *type, size_t size);
/* The same for a whole, which stays in the first list while parts of it are in use. Under the memory's mutex. */
void mtbi_pool_add_whole(mtbi_pool *pool, mtbi_pooled *whole, const mtbi_pooled_type *type, size_t size);
/* Counts `bytes` of a listed whole as in use. Under the memory's mutex. */
void mtbi_pool_count_part(mtbi_pooled *whole, size_t bytes, bool is_new);
/* The user is done with these bytes of the object, which is all of them unless it is a whole: keeps or frees it. */
void mtbi_pool_give_back(mtbi_pooled *object, size_t bytes);

/* Frees what the pool keeps, or all pools of the memory keep, and was last used before `before`. Returns the bytes. */
uint64_t mtbi_pool_trim(mtbi_pool *pool, uint64_t before);
uint64_t mtbi_pools_trim(mtb_memory *memory, uint64_t before);

/* The buffer pools: a buffer with at least `length` bytes and no more than twice as many (256 at least). It keeps the
 * memory alive, and comes back by itself when its last reference is released. */
mtb_status mtbi_pool_take_buffer(mtbi_pool *pool, mtb_storage_mode mode, size_t length, mtb_buffer **taken,
                                 mtb_error **error, const char *function);

#endif
