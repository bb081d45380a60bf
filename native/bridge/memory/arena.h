/* What is behind mtb_arena. */
#ifndef MTBI_ARENA_H
#define MTBI_ARENA_H

#include "memory/pool.h"

struct mtb_arena {
    mtbi_handle handle;
    mtb_memory *memory;
    mtb_storage_mode mode;
    size_t block_bytes;
    uint64_t limit;
    /* The heaps, as wholes whose parts are buffers. */
    mtbi_pool heaps;
    mtb_pool_statistics statistics;
    /* The bytes of heaps that are being made and not listed yet. Under the memory's mutex, as the statistics. */
    uint64_t pending_bytes;
};

#endif
