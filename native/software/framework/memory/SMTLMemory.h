/* Memory behind buffers and heaps: zeroed (or poisoned), aligned, accounted. */
#ifndef SMTL_MEMORY_H
#define SMTL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "sanitizer/sanitizer.h"

typedef struct {
    void *base;
    size_t size;    /* bytes reserved, at least what was asked for */
    void *mapping;  /* NULL: from the heap */
    size_t mapped;  /* bytes of the mapping */
    smtl_watched *watched; /* not NULL: the sanitizer's, and neither of the others */
} smtl_memory;

/* How many bytes smtl_memory_allocate reserves for `length`. */
size_t smtl_memory_reserved(size_t length);
/* Every allocation is aligned to this at least, large ones to a page; to 32 bytes if buffers are guarded. */
#define SMTL_MEMORY_ALIGNMENT 256u

/* Filled as fresh memory is, unless `filled` says that the caller fills all of it. False when memory runs out. */
bool smtl_memory_allocate(smtl_memory *memory, size_t length, bool filled);
/* The same for memory that is handed out in parts. */
bool smtl_memory_allocate_divisible(smtl_memory *memory, size_t length);
void smtl_memory_free(smtl_memory *memory);

#endif
