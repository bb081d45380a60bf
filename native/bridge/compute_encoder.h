/* A compute encoder, and what has been set on it. */
#ifndef MTBI_COMPUTE_ENCODER_H
#define MTBI_COMPUTE_ENCODER_H

#include "encoder.h"

/* What is bound at an index: a buffer at an offset, or bytes of the encoder's own. */
typedef struct mtbi_binding {
    mtb_buffer *buffer;
    size_t offset;
    uint8_t *bytes;
    size_t length;
    size_t capacity;
} mtbi_binding;

struct mtb_compute_encoder {
    mtbi_encoder base;
    mtb_pipeline *pipeline;
    bool is_pipeline_changed;
    mtbi_binding bindings[MTB_MAX_BINDINGS];
    size_t threadgroup_memory[MTB_MAX_BINDINGS];
    /* Bit i is about index i. What has changed since the last dispatch has not been given to Metal yet. Where only the
     * offset has changed, the index is in `moved` and not in `changed`. */
    uint32_t bound;
    uint32_t changed;
    uint32_t moved;
    uint32_t changed_threadgroup_memory;
};

/* Whether a dispatch of the pipeline may run with what is bound: each argument present, large enough and aligned, and
 * threadgroup memory within the device's. */
mtb_status mtbi_compute_encoder_check_bindings(const mtb_compute_encoder *encoder, mtb_error **error,
                                               const char *function);
/* Drops the references to pipeline and buffers, and the bytes. */
void mtbi_compute_encoder_forget(mtb_compute_encoder *encoder);

#endif
