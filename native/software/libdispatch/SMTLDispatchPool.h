/* The threads behind all dispatch queues. There are as many as processors, and more while some of them wait. For a
 * thread that waits in a function of this folder, another is added at once; for one that waits elsewhere, once no
 * thread has taken an item for a while. */
#ifndef SMTL_DISPATCH_POOL_H
#define SMTL_DISPATCH_POOL_H

#include <stdint.h>

/* A piece of work, embedded in what it works on. */
typedef struct smtl_pool_item {
    struct smtl_pool_item *next;
    void (*run)(struct smtl_pool_item *item);
} smtl_pool_item;

/* Runs `item` in an autorelease pool on one of the threads, or on this one if the system gives no thread. */
void smtl_pool_post(smtl_pool_item *item);
/* Runs `item`, which must not wait, when the monotonic clock says `deadline` nanoseconds; in the order of deadlines.
 * If the system gives no thread, one of the pool's waits for it; if the pool has none, this one. */
void smtl_run_at(smtl_pool_item *item, uint64_t deadline);

/* Called before and after every wait of a thread that may belong to the pool. */
void smtl_pool_begin_wait(void);
void smtl_pool_end_wait(void);

/* As many threads as can run at once. */
unsigned smtl_pool_width(void);

#endif
