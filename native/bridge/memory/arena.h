/* What is behind mtb_arena. */
#ifndef MTBI_ARENA_H
#define MTBI_ARENA_H

#include "core/handles.h"

/* An MTLHeap. What is in it is counted by its buffers. */
typedef struct mtbi_heap {
    struct mtbi_heap *next;
    MTBI_OBJECT(MTLHeap) metal;
    size_t size;
    size_t buffers;
    uint64_t last_used;
} mtbi_heap;

struct mtb_arena {
    mtbi_handle handle;
    mtbi_home home;
    mtb_memory *memory;
    mtb_storage_mode mode;
    size_t block_bytes;
    uint64_t limit;
    /* Under the memory's mutex: the heaps, what they amount to, and the memory's next arena. */
    mtbi_heap *heaps;
    mtb_pool_statistics statistics;
    mtb_arena *next;
};

/* Takes heaps with nothing in them, last used before `before`, from all arenas of the memory, or from one. Under the
 * memory's mutex. */
mtbi_heap *mtbi_arena_detach(mtb_arena *arena, uint64_t before);
mtbi_heap *mtbi_arenas_detach(mtb_memory *memory, uint64_t before);
/* Gives detached heaps back to Metal. Returns the bytes. */
uint64_t mtbi_heaps_free(mtb_memory *memory, mtbi_heap *heaps);

#endif
