/* Blits for the bridge's own transfers. */
#ifndef MTBI_BLIT_H
#define MTBI_BLIT_H

#include "buffer/buffer.h"

/* A copy, or a fill if there is no source. */
typedef struct mtbi_blit {
    mtb_buffer *source;
    size_t source_offset;
    mtb_buffer *destination;
    size_t destination_offset;
    size_t size;
    uint8_t value;
} mtbi_blit;

/* Encodes blits whose ranges have been checked, all in one guard: a guard for each blit would cost more than the blit.
 */
mtb_status mtbi_blit_encoder_encode(mtb_blit_encoder *encoder, const mtbi_blit *blits, size_t count, mtb_error **error);

#endif
