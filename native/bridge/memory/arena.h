/* What is behind mtb_arena. */
#ifndef MTBI_ARENA_H
#define MTBI_ARENA_H

#include "memory/pool.h"

#include <pthread.h>

struct mtb_arena {
    mtbi_handle handle;
    mtb_memory *memory;
    mtb_storage_mode mode;
    size_t block_bytes;
    uint64_t limit;
    /* The heaps, as wholes whose parts are buffers. */
    mtbi_pool heaps;
    mtb_pool_statistics statistics;
    /* Held by the thread that makes a heap, so that no other makes one beside it. Taken before the memory's mutex. */
    pthread_mutex_t growth;
};

#endif
