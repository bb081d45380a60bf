/* What a kernel asks of an indirect command buffer. C and C++: the kernel fills it, the framework carries it out. */
#ifndef SMTL_COMMAND_REQUEST_H
#define SMTL_COMMAND_REQUEST_H

#include <stdint.h>

typedef enum {
    SMTL_COMMAND_SIZE, /* of the indirect command buffer: the result */
    SMTL_COMMAND_SET_PIPELINE,
    SMTL_COMMAND_SET_BUFFER,
    SMTL_COMMAND_SET_THREADGROUP_MEMORY,
    SMTL_COMMAND_DISPATCH_THREADGROUPS,
    SMTL_COMMAND_DISPATCH_THREADS,
    SMTL_COMMAND_SET_BARRIER,
    SMTL_COMMAND_CLEAR_BARRIER,
    SMTL_COMMAND_RESET,
    SMTL_COMMAND_COPY,
} smtl_command_operation;

typedef struct {
    uint64_t commands; /* the indirect command buffer's handle */
    uint32_t operation;
    uint32_t index; /* of the command */
    /* The pipeline's handle, the buffer's address, the length of threadgroup memory, or the handle of the indirect
     * command buffer that is copied from. */
    uint64_t value;
    uint32_t at; /* the argument's index, or that of the command that is copied */
    uint32_t grid[3]; /* threadgroups or threads */
    uint32_t threads_per_threadgroup[3];
    uint64_t result;
} smtl_command_request;

#endif
