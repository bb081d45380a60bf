/* What is behind mtb_memory: staging blocks, kernels and statistics of a device. */
#ifndef MTBI_MEMORY_H
#define MTBI_MEMORY_H

#include "device/device.h"
#include "memory/arena.h"
#include "memory/bounce.h"
#include "memory/pairs.h"
#include "memory/pool.h"
#include "memory/timer.h"

typedef enum mtbi_kernel {
    MTBI_KERNEL_COPY_ROWS,
    MTBI_KERNEL_FILL_ROWS,
    MTBI_KERNEL_FILL_WORDS,
    MTBI_KERNEL_COUNT
} mtbi_kernel;

/* The kernels of a device for transfers that blits cannot do. Each is compiled at its first use. */
typedef struct mtbi_kernels {
    mtb_device *device;
    /* Apart from other locks, since compiling takes its time. */
    pthread_mutex_t mutex;
    mtb_pipeline *pipelines[MTBI_KERNEL_COUNT];
} mtbi_kernels;

enum {
    MTBI_STORAGE_MODES = MTB_STORAGE_PRIVATE + 1
};

struct mtb_memory {
    mtbi_handle handle;
    mtb_device *device;
    uint64_t idle_ns;
    pthread_mutex_t mutex;
    /* Bytes that Metal has allocated for this memory, and the most that it may. The mutex guards them and all pools:
     * those below, and those of arenas and peers. */
    uint64_t held;
    uint64_t budget;
    mtbi_pool *pools;
    mtbi_pool staging;
    mtb_pool_statistics staging_statistics;
    mtbi_pool buffers[MTBI_STORAGE_MODES];
    mtb_pool_statistics buffer_statistics;
    mtbi_pool queues;
    mtb_pool_statistics queue_statistics;
    mtb_transfer_statistics transfers[MTB_TRANSFER_KIND_COUNT];
    mtbi_pair *pairs;
    _Atomic uint64_t command_buffers;
    /* Looks for what is idle, while `is_expecting`. */
    mtbi_task task;
    atomic_bool is_expecting;
    mtbi_kernels kernels;
    /* The other devices that transfers go to and come from. Under a mutex of their own. */
    pthread_mutex_t peers_mutex;
    mtbi_peer *peers;
};

void mtbi_kernels_create(mtbi_kernels *kernels, mtb_device *device);
void mtbi_kernels_destroy(mtbi_kernels *kernels);
/* The kernel, which stays theirs; NULL and an error if it cannot be made. */
mtb_pipeline *mtbi_kernels_get(mtbi_kernels *kernels, mtbi_kernel kernel, mtb_error **error);

/* Bytes of the budget, for an allocation of Metal's. If there are too few, the memory frees what it keeps.
 * MTB_OVER_BUDGET if that is not enough. */
mtb_status mtbi_memory_reserve(mtb_memory *memory, uint64_t bytes, mtb_error **error, const char *function);
void mtbi_memory_unreserve(mtb_memory *memory, uint64_t bytes);
/* There was no memory: frees what is kept and drops the error. False if nothing was kept, so that another try is
 * useless. */
bool mtbi_memory_free_for_retry(mtb_memory *memory, mtb_error **error);
/* Something is kept: the timer frees it when nobody has used it for the memory's idle time. */
void mtbi_memory_expect_idle(mtb_memory *memory);

/* Adds what a command buffer has done to the statistics of all kinds, and takes its pairs. */
void mtbi_memory_count(mtb_memory *memory, const mtb_transfer_statistics *sums, mtbi_pair **pairs);

#endif
