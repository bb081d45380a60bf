/* Executes launches of compiled kernels on the CPU. Called by framework/, implemented in C++. */
#ifndef SMTL_ENGINE_H
#define SMTL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "msl/include/smtl/command_request.h"

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
/* The kernel's buffer arguments or, if `threadgroup`, its threadgroup memory arguments: a bit for each index. Arguments
 * that a function constant has removed are not among them. */
uint32_t smtl_kernel_argument_mask(const smtl_kernel *kernel, bool threadgroup);
/* The arguments among them that the machine code uses. A launch needs no others. */
uint32_t smtl_kernel_used_mask(const smtl_kernel *kernel, bool threadgroup);

/* Sets the name of an argument in reports. Call it before the kernel is first launched. */
void smtl_kernel_name_argument(smtl_kernel *kernel, bool threadgroup, uint32_t index, const char *name);

/* The function that was linked into the kernel under this number; NULL: there is none. */
const struct smtl_visible_function *smtl_kernel_find_function(const smtl_kernel *kernel, uint32_t number);

/* A table of functions that were linked into the kernel: what kernels get instead of a buffer. NULL if memory has run
 * out. NULL in place of a function empties the place. */
typedef struct smtl_function_table smtl_function_table;
smtl_function_table *smtl_function_table_create(const smtl_kernel *kernel, size_t count);
void smtl_function_table_set(smtl_function_table *table, size_t index, const struct smtl_visible_function *function);
void smtl_function_table_free(smtl_function_table *table);

/* What orders a launch among others, for its checks (sanitizer/). All zero: it is in order with every other launch. */
typedef struct {
    uint32_t queue; /* from 1 */
    uint32_t phase; /* launches of one queue are in the order of their phases; those of one phase are in no order */
    uint32_t encoder_phase; /* the first phase of its encoder */
    uint32_t untracked_phase; /* the queue's launches up to this phase are done, hazards tracked or not */
    /* How far other queues have certainly come; NULL: unknown. Valid during the launch. */
    const struct smtl_clock *seen;
} smtl_moment;

/* The length of a buffer of which only the address is known. */
#define SMTL_UNKNOWN_LENGTH (SIZE_MAX / 2)

typedef struct smtl_launch {
    const smtl_kernel *kernel;
    /* Addresses by buffer index (offsets applied; setBytes copies included); NULL if nothing is bound. */
    void *buffers[SMTL_MAX_BUFFER_ARGUMENTS];
    /* Bytes from the address above to the end of its buffer. */
    size_t buffer_lengths[SMTL_MAX_BUFFER_ARGUMENTS];
    /* Dynamic threadgroup memory by index, in bytes. */
    uint32_t threadgroup_lengths[SMTL_MAX_BUFFER_ARGUMENTS];
    /* The grid in threads. It need not be a multiple of the threadgroup (dispatchThreads). */
    uint32_t threads_per_grid[3];
    uint32_t threads_per_threadgroup[3];
    /* Takes the kernel's messages. NULL: they are dropped. */
    struct smtl_log_buffer *log;
    /* Carries out what the kernel asks of an indirect command buffer. False, and a malloc'd message, if it is wrong.
     * Many threads may call it at once, each on a stack of the kernel's. NULL: the kernel may ask for nothing. */
    bool (*encode_command)(const struct smtl_launch *launch, smtl_command_request *request, char **problem);
    /* For the checks of an instrumented kernel: a bit for each index whose bytes the command buffer itself holds
     * (setBytes). */
    uint32_t inline_bytes;
    smtl_moment moment;
} smtl_launch;

/* Why a kernel could not finish. */
typedef enum {
    SMTL_FAILURE_NONE,
    SMTL_FAILURE_ARGUMENTS, /* the launch's sizes or arguments are wrong */
    SMTL_FAILURE_MEMORY, /* the host has no memory for it */
    SMTL_FAILURE_ACCESS, /* it touched memory that is not its own */
    SMTL_FAILURE_STACK,
    SMTL_FAILURE_TIMEOUT,
    SMTL_FAILURE_TRAP,
} smtl_failure;

/* Runs the launch to its end on the shared thread pool (the calling thread takes part).
 * If the kernel could not finish: false, the reason and a malloc'd message. Many threads may call this at once. */
bool smtl_launch_run(const smtl_launch *launch, smtl_failure *failure, char **error);

#ifdef __cplusplus
}
#endif
#endif
