/* What is behind mtb_memory: staging blocks, kernels and statistics of a device. */
#ifndef MTBI_MEMORY_H
#define MTBI_MEMORY_H

#include "arena.h"
#include "keeper.h"
#include "pool.h"
#include "queue_pool.h"

/* Kernels for what blits cannot do; made at the first use. */
typedef enum mtbi_kernel {
    MTBI_KERNEL_COPY_ROWS,
    MTBI_KERNEL_FILL_ROWS,
    MTBI_KERNEL_FILL_WORDS,
    MTBI_KERNEL_COUNT
} mtbi_kernel;

enum { MTBI_STORAGE_MODES = MTB_STORAGE_PRIVATE + 1 };

struct mtb_memory {
    mtbi_handle handle;
    mtb_device *device;
    uint64_t idle_ns;
    pthread_mutex_t mutex;
    /* Bytes that Metal has allocated for this memory, and the most that it may. Under the mutex, as all of the pools. */
    uint64_t held;
    uint64_t budget;
    mtbi_pool staging;
    mtb_pool_statistics staging_statistics;
    mtbi_pool buffers[MTBI_STORAGE_MODES];
    mtb_pool_statistics buffer_statistics;
    mtbi_queue_pool queues;
    mtb_arena *arenas;
    mtb_transfer_statistics transfers[MTB_TRANSFER_KIND_COUNT];
    _Atomic uint64_t command_buffers;
    /* Looks for what is idle, while `is_expecting`. */
    mtbi_chore chore;
    atomic_bool is_expecting;
    /* Apart from the mutex, since compiling takes its time. */
    pthread_mutex_t kernel_mutex;
    mtb_pipeline *kernels[MTBI_KERNEL_COUNT];
};

/* The kernel, which the memory keeps; NULL and why where it cannot be made. */
mtb_pipeline *mtbi_memory_kernel(mtb_memory *memory, mtbi_kernel kernel, mtb_error **error);

/* Bytes of the budget, for an allocation of Metal's. Where there are too few, what is kept is let go of. MTB_OVER_BUDGET where
 * that is not enough. */
mtb_status mtbi_memory_reserve(mtb_memory *memory, uint64_t bytes, mtb_error **error, const char *function);
void mtbi_memory_unreserve(mtb_memory *memory, uint64_t bytes);
/* Something is kept: sees to it that it is let go of when nobody has used it for the memory's idle time. */
void mtbi_memory_expect_idle(mtb_memory *memory);

/* Adds what a command buffer has done to the statistics of all kinds. */
void mtbi_memory_count(mtb_memory *memory, const mtb_transfer_statistics *sums);

#endif
