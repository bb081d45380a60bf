/* A compute encoder: what has been set on it, and what it has yet to give to Metal. */
#ifndef MTBI_COMPUTE_ENCODER_H
#define MTBI_COMPUTE_ENCODER_H

#include "command/encoder.h"
#include "compute/launch.h"

/* What is bound at an index: a buffer at an offset, a table, or bytes of the encoder's own. */
typedef struct mtbi_binding {
    mtb_buffer *buffer;
    mtb_visible_function_table *table;
    size_t offset;
    uint8_t *bytes;
    size_t length;
    size_t capacity;
} mtbi_binding;

static inline bool mtbi_has_bytes(const mtbi_binding *binding) { return !binding->buffer && !binding->table; }

typedef enum mtbi_command_kind {
    MTBI_SET_PIPELINE,           /* set */
    MTBI_SET_BUFFER,             /* set: the buffer and its offset */
    MTBI_SET_OFFSET,             /* set: the offset */
    MTBI_SET_TABLE,              /* set: the table */
    MTBI_SET_BYTES,              /* set: where in the batch's bytes; length */
    MTBI_SET_THREADGROUP_MEMORY, /* length */
    MTBI_DISPATCH_THREADS,       /* dispatch */
    MTBI_DISPATCH_THREADGROUPS,  /* dispatch */
    MTBI_MEMORY_BARRIER
} mtbi_command_kind;

/* A message that Metal is to get. Small, so that a batch stays in the first-level cache until it is sent. */
typedef struct mtbi_command {
    uint16_t kind;
    uint16_t index;
    uint32_t length;
    union {
        struct {
            /* The Metal object. */
            void *object;
            size_t value;
        } set;
        struct {
            uint32_t grid[3];
            uint32_t group[3];
        } dispatch;
    } of;
} mtbi_command;

/* Commands that wait to be sent in one pool. */
enum {
    MTBI_BATCH_COMMANDS = 256,
    MTBI_BATCH_BYTES = 4 * MTB_MAX_INLINE_BYTES
};
typedef struct mtbi_batch {
    size_t count;
    mtbi_command commands[MTBI_BATCH_COMMANDS];
    /* What the commands set as bytes: sent once there are MTBI_BATCH_BYTES of them. */
    uint8_t *bytes;
    size_t byte_count;
    size_t byte_capacity;
} mtbi_batch;

struct mtb_compute_encoder {
    mtbi_encoder base;
    mtb_pipeline *pipeline;
    bool is_pipeline_changed;
    mtbi_binding bindings[MTB_MAX_BINDINGS];
    size_t threadgroup_memory[MTB_MAX_BINDINGS];
    /* Bit i is about index i. What has changed since the last dispatch is not in the batch yet. If only the offset has
     * changed, the index is in `moved` and not in `changed`. */
    uint32_t bound;
    uint32_t changed;
    uint32_t moved;
    uint32_t changed_threadgroup_memory;
    /* Made at the first dispatch. */
    mtbi_batch *batch;
    /* Buffers, tables and pipelines that were set: kept until the encoder ends. `serial` is in each handle of the list.
     */
    uint64_t serial;
    mtbi_references kept;
};

/* Whether a dispatch of the pipeline may run with what is bound: each argument present, large enough and aligned, and
 * threadgroup memory within the device's. */
mtb_status mtbi_compute_encoder_check_bindings(const mtb_compute_encoder *encoder, mtb_error **error,
                                               const char *function);
/* Drops what is set, what is kept and what has not been sent: the base's `forget`. */
void mtbi_compute_encoder_forget(mtbi_encoder *encoder);

/* What is set for an argument. */
mtbi_bound mtbi_compute_encoder_bound(const mtb_compute_encoder *encoder, const mtb_argument *argument);
/* A dispatch in threadgroups of this size may run, if the grid fits. */
mtb_status mtbi_compute_encoder_check_launch(const mtb_compute_encoder *encoder, mtb_size group, mtb_error **error,
                                             const char *function);
/* Sends what has been set and the batch before it, so that Metal has all that the next message needs. */
mtb_status mtbi_compute_encoder_send_settings(mtb_compute_encoder *encoder, mtb_error **error, const char *function);
/* All that is set is sent again before the next dispatch. */
void mtbi_compute_encoder_resend_settings(mtb_compute_encoder *encoder);

/* Sends the batch to Metal. */
mtb_status mtbi_compute_encoder_flush(mtb_compute_encoder *encoder, mtb_error **error, const char *function);

#endif
