/* What encoders record and the queue's thread replays: a sequence of small records in chunks of memory that are
 * recycled. Recording a launch makes no object and, as a rule, allocates nothing. */
#ifndef SMTL_COMMAND_STREAM_H
#define SMTL_COMMAND_STREAM_H

#import <Foundation/Foundation.h>
#include "sanitizer/sanitizer.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

@class SMTLBuffer;
@class SMTLComputePipeline;
@class SMTLCounterSampleBuffer;
@class SMTLEvent;
@class SMTLIndirectCommandBuffer;
@class SMTLFence;

/* Also the alignment of bytes copied by setBytes: the largest that a Metal type has. */
#define SMTL_RECORD_ALIGNMENT 32u

typedef enum {
    SMTL_OP_BEGIN_ENCODER, /* index: 1 for one whose launches are concurrent */
    SMTL_OP_BARRIER,       /* between the launches of such an encoder */
    SMTL_OP_SET_PIPELINE,
    SMTL_OP_SET_BUFFER,
    SMTL_OP_SET_BYTES,
    SMTL_OP_SET_THREADGROUP_MEMORY,
    SMTL_OP_LAUNCH,
    SMTL_OP_LAUNCH_INDIRECT,
    SMTL_OP_EXECUTE,
    SMTL_OP_COPY, /* index: 1 for one that crosses a link */
    SMTL_OP_FILL,
    SMTL_OP_SYNCHRONIZE,
    SMTL_OP_HOST, /* index: how many ranges it writes */
    SMTL_OP_RESET_COMMANDS,
    SMTL_OP_COPY_COMMANDS,
    SMTL_OP_SAMPLE,
    SMTL_OP_RESOLVE_SAMPLES,
    SMTL_OP_UPDATE_FENCE, /* fences: for the sanitizer alone */
    SMTL_OP_WAIT_FENCE,
    SMTL_OP_SIGNAL_EVENT,
    SMTL_OP_WAIT_EVENT,
    SMTL_OP_FAIL, /* ends the command buffer */
} smtl_op;

typedef struct {
    uint16_t op;
    uint16_t index; /* of the buffer or threadgroup argument, where there is one */
    uint32_t size;  /* of the whole record */
} smtl_record;

typedef struct {
    smtl_record record;
    const SMTLComputePipeline *pipeline;
} smtl_set_pipeline;

typedef struct {
    smtl_record record;
    void *address;
    size_t length; /* from the address to the end of the buffer */
} smtl_set_buffer;

typedef struct {
    smtl_record record;
    size_t length;
    uint8_t bytes[] __attribute__((aligned(SMTL_RECORD_ALIGNMENT)));
} smtl_set_bytes;

typedef struct {
    smtl_record record;
    uint32_t length;
} smtl_set_threadgroup_memory;

typedef struct {
    smtl_record record;
    uint32_t threads_per_grid[3];
    uint32_t threads_per_threadgroup[3];
} smtl_record_launch;

typedef struct {
    smtl_record record;
    const uint32_t *threadgroups_per_grid; /* not NULL: read when it executes, and without threadgroups nothing fails */
    char reason[]; /* with a zero at its end */
} smtl_record_fail;

typedef struct {
    smtl_record record;
    const uint32_t *threadgroups_per_grid; /* read when the launch executes */
    uint32_t threads_per_threadgroup[3];
} smtl_record_launch_indirect;

/* Executes commands of an indirect command buffer, or resets or replaces them. */
typedef struct {
    smtl_record record;
    SMTLIndirectCommandBuffer *commands;
    NSUInteger location;
    NSUInteger length;
    const uint32_t *range; /* not NULL: location and length, read when it executes */
} smtl_record_execute;

typedef struct {
    smtl_record record;
    SMTLIndirectCommandBuffer *source;
    SMTLIndirectCommandBuffer *destination;
    NSUInteger location;
    NSUInteger length;
    NSUInteger index; /* in the destination */
} smtl_record_copy_commands;

typedef struct {
    smtl_record record;
    SMTLCounterSampleBuffer *samples;
    NSUInteger index;
} smtl_record_sample;

typedef struct {
    smtl_record record;
    SMTLCounterSampleBuffer *samples;
    NSUInteger location;
    NSUInteger length;
    uint8_t *destination;
} smtl_record_resolve;

typedef struct {
    smtl_record record;
    const uint8_t *source;
    uint8_t *destination;
    size_t size;
} smtl_record_copy;

typedef struct {
    smtl_record record;
    uint8_t *destination;
    size_t size;
    uint8_t value;
} smtl_record_fill;

typedef struct {
    smtl_record record;
    SMTLBuffer *buffer;
} smtl_record_synchronize;

/* Why work on the host has failed. */
typedef struct {
    NSUInteger code; /* an MTLCommandBufferError */
    char *message; /* malloc'd, or NULL */
} smtl_host_failure;

/* Work that a C function does in place of a kernel. False ends the command buffer. */
typedef bool (*smtl_host_function)(const void *argument, smtl_host_failure *failure);

typedef struct {
    uint8_t *bytes;
    size_t size;
} smtl_host_range;

typedef struct {
    smtl_record record;
    smtl_host_function run;
    const void *argument; /* in the record, behind what is written */
    smtl_host_range written[]; /* for the sanitizer */
} smtl_record_host;

typedef struct {
    smtl_record record;
    SMTLEvent *event;
    uint64_t value;
} smtl_record_event;

typedef struct {
    smtl_record record;
    SMTLFence *fence;
} smtl_record_fence;

typedef struct smtl_chunk {
    struct smtl_chunk *next;
    size_t used;
    uint8_t bytes[] __attribute__((aligned(SMTL_RECORD_ALIGNMENT)));
} smtl_chunk;

/* Spare chunks, shared by the command buffers of a queue. */
typedef struct {
    pthread_mutex_t mutex;
    smtl_chunk *spare;
    size_t spare_count;
} smtl_chunk_pool;

void smtl_chunk_pool_init(smtl_chunk_pool *pool);
void smtl_chunk_pool_destroy(smtl_chunk_pool *pool);

typedef struct {
    smtl_chunk_pool *pool;
    smtl_chunk *first;
    smtl_chunk *last;
} smtl_stream;

/* A record of at least `size` bytes at the end of the stream, with its header filled in. Raises NSMallocException if
 * memory runs out; the stream is then as it was. */
void *smtl_stream_append(smtl_stream *stream, smtl_op op, uint32_t index, size_t size);
/* Gives the chunks back to the pool. */
void smtl_stream_clear(smtl_stream *stream);

#endif
