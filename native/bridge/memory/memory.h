/* What is behind mtb_memory: staging blocks, kernels and statistics of a device. */
#ifndef MTBI_MEMORY_H
#define MTBI_MEMORY_H

#include "../handles.h"

/* Blocks have 2^class bytes. */
enum { MTBI_STAGING_CLASSES = 48 };

/* A shared buffer that bytes pass through on their way between host memory and a buffer that the CPU does not see. */
typedef struct mtbi_block {
    struct mtbi_block *next;
    mtb_buffer *buffer;
    uint8_t *contents;
    size_t size;
    uint64_t last_used;
} mtbi_block;

/* What is kept of something, and what that has amounted to. Under the memory's mutex. */
typedef struct mtbi_staging {
    mtbi_block *kept[MTBI_STAGING_CLASSES];
    uint64_t limit;
    mtb_pool_statistics statistics;
} mtbi_staging;

/* Kernels for what blits cannot do; made at the first use. */
typedef enum mtbi_kernel {
    MTBI_KERNEL_COPY_ROWS,
    MTBI_KERNEL_FILL_ROWS,
    MTBI_KERNEL_FILL_WORDS,
    MTBI_KERNEL_COUNT
} mtbi_kernel;

struct mtb_memory {
    mtbi_handle handle;
    mtb_device *device;
    uint64_t idle_ns;
    pthread_mutex_t mutex;
    mtbi_staging staging;
    mtb_transfer_statistics transfers[MTB_TRANSFER_KIND_COUNT];
    _Atomic uint64_t command_buffers;
    /* Apart from the mutex, since compiling takes its time. */
    pthread_mutex_t kernel_mutex;
    mtb_pipeline *kernels[MTBI_KERNEL_COUNT];
};

/* The kernel, which the memory keeps; NULL and why where it cannot be made. */
mtb_pipeline *mtbi_memory_kernel(mtb_memory *memory, mtbi_kernel kernel, mtb_error **error);

/* A block of at least `size` bytes and less than twice as many (256 at least). NULL and why where there is none. */
mtbi_block *mtbi_staging_take(mtb_memory *memory, size_t size, mtb_error **error, const char *function);
/* Keeps the block for the next who needs one, or lets go of it where enough is kept. */
void mtbi_staging_give(mtb_memory *memory, mtbi_block *block);
/* Lets go of what is kept and was not used in the last `idle_ns`. Returns the bytes. */
uint64_t mtbi_staging_trim(mtb_memory *memory, uint64_t idle_ns);

/* Adds what a command buffer has done to the statistics of all kinds. */
void mtbi_memory_count(mtb_memory *memory, const mtb_transfer_statistics *sums);

#endif
