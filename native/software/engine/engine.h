/* Executes launches of compiled kernels on the CPU. Called by framework/, implemented in C++. */
#ifndef SMTL_ENGINE_H
#define SMTL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMTL_SIMD_WIDTH 32u
#define SMTL_MAX_THREADS_PER_THREADGROUP 1024u
#define SMTL_MAX_THREADGROUP_MEMORY 32768u
#define SMTL_MAX_BUFFER_ARGUMENTS 31u

/* One kernel, loaded from the shared object that msl/ produced. Thread-safe once loaded. */
typedef struct smtl_kernel smtl_kernel;

/* Loads `entry` from the shared object at `path`. NULL and a malloc'd message on failure. */
smtl_kernel *smtl_kernel_load(const char *path, const char *entry, char **error);
void smtl_kernel_release(smtl_kernel *kernel);
/* Bytes of threadgroup memory that the kernel declares itself. */
size_t smtl_kernel_static_threadgroup_memory(const smtl_kernel *kernel);
/* The buffer (or, if `threadgroup`, threadgroup memory) arguments that the kernel takes, a bit an index: without those
 * that a function constant has removed. */
uint32_t smtl_kernel_argument_mask(const smtl_kernel *kernel, bool threadgroup);
/* Of these, the ones that its machine code uses: a launch needs no others. */
uint32_t smtl_kernel_used_mask(const smtl_kernel *kernel, bool threadgroup);

/* What reports call an argument. Before the kernel is first launched. */
void smtl_kernel_name_argument(smtl_kernel *kernel, bool threadgroup, uint32_t index, const char *name);

/* What orders a launch among others, for its checks (sanitizer/). All zero: it comes after every other one. */
typedef struct {
    uint32_t queue; /* from 1 */
    uint32_t phase; /* launches of one queue are ordered by it; those of one phase are not */
    uint32_t encoder_phase; /* the first of its encoder */
    uint32_t untracked_phase; /* what came up to here in the queue is done, hazards tracked or not */
    const struct smtl_clock *seen; /* how far other queues have come for certain; NULL: unknown */
} smtl_moment;

typedef struct {
    const smtl_kernel *kernel;
    /* Addresses by buffer index (offsets applied; setBytes copies included); NULL if nothing is bound. */
    void *buffers[SMTL_MAX_BUFFER_ARGUMENTS];
    /* Bytes from the address above to the end of its buffer. */
    size_t buffer_lengths[SMTL_MAX_BUFFER_ARGUMENTS];
    /* Dynamic threadgroup memory by index, in bytes. */
    uint32_t threadgroup_lengths[SMTL_MAX_BUFFER_ARGUMENTS];
    /* The grid in threads: need not be a multiple of the threadgroup (dispatchThreads). */
    uint32_t threads_per_grid[3];
    uint32_t threads_per_threadgroup[3];
    /* Where what the kernel logs goes; NULL: it is dropped. */
    struct smtl_log_buffer *log;
    /* For the checks of an instrumented kernel. A bit for each index whose buffer is bytes that the command buffer
     * holds itself. */
    uint32_t inline_bytes;
    smtl_moment moment;
} smtl_launch;

/* Why a kernel could not finish. */
typedef enum {
    SMTL_FAILURE_NONE,
    SMTL_FAILURE_ARGUMENTS, /* it cannot be launched so */
    SMTL_FAILURE_MEMORY,    /* the host has none for it */
    SMTL_FAILURE_ACCESS,    /* it touched an address where nothing is */
    SMTL_FAILURE_STACK,
    SMTL_FAILURE_TIMEOUT,
    SMTL_FAILURE_TRAP,
} smtl_failure;

/* Runs the launch to its end on the shared thread pool (the calling thread takes part).
 * False, the reason and a malloc'd message when the kernel could not finish. Callable from many threads at once. */
bool smtl_launch_run(const smtl_launch *launch, smtl_failure *failure, char **error);

#ifdef __cplusplus
}
#endif
#endif
