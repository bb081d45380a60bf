/* A pool of buffers of one storage mode, kept by size. */
#ifndef MTBI_POOL_H
#define MTBI_POOL_H

#include "core/handles.h"

/* Sizes grow by an eighth of a power of two: see pool.c. */
enum {
    MTBI_POOL_CLASSES = 312
};

typedef struct mtbi_pool {
    /* First, so that a buffer's home is its pool. */
    mtbi_home home;
    mtb_memory *memory;
    mtb_storage_mode mode;
    /* What is kept fits into the limit: together with what is in use, or alone. */
    uint64_t limit;
    bool counts_what_is_used;
    /* Under the memory's mutex. The statistics are shared by the pools of all modes. */
    mtb_buffer *kept[MTBI_POOL_CLASSES];
    mtb_pool_statistics *statistics;
} mtbi_pool;

/* A buffer with room for at least `length` bytes and no more than twice as many (256 at least). It keeps the memory
 * alive, and comes back by itself when its last reference is released. */
mtb_status mtbi_pool_take(mtbi_pool *pool, size_t length, mtb_buffer **taken, mtb_error **error, const char *function);
/* Lets go of what is kept and was last used before `before`. Returns the bytes. */
uint64_t mtbi_pool_trim(mtbi_pool *pool, uint64_t before);
/* A buffer's or a queue's last reference is gone, and with it that to the memory: keeps it or lets go of it. */
void mtbi_pool_take_back(mtbi_home *home, void *handle);

/* Keep the pool's statistics, under the memory's mutex: something was taken, from what is kept or new; what was kept is
 * not any more; something comes back, and whether it may be kept. */
void mtbi_pool_count_taken(mtbi_pool *pool, size_t bytes, bool was_kept);
void mtbi_pool_count_let_go(mtbi_pool *pool, size_t bytes);
bool mtbi_pool_count_back(mtbi_pool *pool, size_t bytes);

#endif
