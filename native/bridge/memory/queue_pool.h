/* Queues that nobody uses, for the next who needs one. Their shared events come along. */
#ifndef MTBI_QUEUE_POOL_H
#define MTBI_QUEUE_POOL_H

#include "core/handles.h"

typedef struct mtbi_queue_pool {
    /* First, so that a queue's home is its pool. */
    mtbi_home home;
    mtb_memory *memory;
    /* Under the memory's mutex. */
    mtb_queue *kept;
    mtb_pool_statistics statistics;
} mtbi_queue_pool;

/* Lets go of those that were last used before `before`. */
void mtbi_queue_pool_trim(mtbi_queue_pool *pool, uint64_t before);
void mtbi_queue_pool_take_back(mtbi_home *home, void *handle);

#endif
