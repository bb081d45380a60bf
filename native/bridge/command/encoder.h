/* What compute and blit encoders have in common. The functions are called inside a guard of the caller's. */
#ifndef MTBI_ENCODER_H
#define MTBI_ENCODER_H

#include "command/command_buffer.h"
#include "core/process.h"

/* The first member of an encoder. */
typedef struct mtbi_encoder {
    mtbi_handle handle;
    /* Until the encoder has ended; not retained: a command buffer that goes ends its encoder. */
    mtb_command_buffer *command_buffer;
    MTBI_OBJECT(MTLCommandEncoder) metal;
    /* Releases what the encoder keeps; NULL if it keeps nothing. */
    void (*forget)(struct mtbi_encoder *encoder);
    size_t open_debug_groups;
    bool has_ended;
} mtbi_encoder;

/* An encoder of either kind as its base; NULL stays NULL, where &encoder->base would be undefined. */
#define ENCODER_BASE(encoder) ((mtbi_encoder *)(encoder))

mtb_status mtbi_fail_encoder(const mtbi_encoder *encoder, mtb_error **error, const char *function);
/* The encoder is not NULL, has not been ended, and is not that of a parent of fork(). Inline: every binding asks. */
static inline mtb_status mtbi_encoder_check(const mtbi_encoder *encoder, mtb_error **error, const char *function) {
    if (encoder && !encoder->has_ended && !atomic_load_explicit(&mtbi_is_forked, memory_order_relaxed)) return MTB_OK;
    return mtbi_fail_encoder(encoder, error, function);
}

#ifdef __OBJC__
/* Retains `metal`, nil if Metal could not make one, and marks the command buffer as being encoded. */
mtb_status mtbi_encoder_begin(mtbi_encoder *encoder, mtb_command_buffer *command_buffer, id<MTLCommandEncoder> metal,
                              mtb_error **error, const char *function);
/* Closes the debug groups that are open, and ends the encoder, unless that has been done. */
void mtbi_encoder_end(mtbi_encoder *encoder);
/* The same, and releases what the encoder keeps: its command buffer goes, and the owner has only the handle. */
void mtbi_encoder_abandon(mtbi_encoder *encoder);
/* The last step of an encoder's destruction: ends it and frees it. */
void mtbi_encoder_destroy(mtbi_encoder *encoder);
mtb_status mtbi_encoder_push_debug_group(mtbi_encoder *encoder, const char *name, mtb_error **error,
                                         const char *function);
mtb_status mtbi_encoder_pop_debug_group(mtbi_encoder *encoder, mtb_error **error, const char *function);
#endif

#endif
