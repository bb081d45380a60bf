/* What a pool of the memory layer notes about an object that it lends. */
#ifndef MTBI_POOLED_H
#define MTBI_POOLED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero for an object that belongs to no pool. Only the pool writes it, except for `is_changed`. */
typedef struct mtbi_pooled {
    /* The pool that the object came from and goes back to. */
    struct mtbi_pool *owner;
    const struct mtbi_pooled_type *type;
    /* For a part, the whole that it was taken from, such as the heap of an arena's buffer. */
    struct mtbi_pooled *whole;
    /* In the pool's list, while `is_listed`. */
    struct mtbi_pooled *next;
    bool is_listed;
    /* Bytes, as the pool counts them. */
    size_t size;
    /* Nobody uses what is kept; a whole has as many users as it has parts. */
    size_t users;
    uint64_t last_used;
    /* The user has changed the object in a way that its next user must not see, such as by a label. Any thread that
     * uses the object may write it. */
    atomic_bool is_changed;
} mtbi_pooled;

#endif
