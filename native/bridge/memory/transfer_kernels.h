/* What transfer.metal and its callers agree on. */
#ifndef MTBI_TRANSFER_KERNELS_H
#define MTBI_TRANSFER_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes, or words, of a row that one thread has. */
enum {
    MTBI_KERNEL_UNIT = 16
};

/* `Rows` in transfer.metal. Pitches, width and unit are words for fill_words. */
typedef struct mtbi_rows {
    uint64_t source_pitch;
    uint64_t destination_pitch;
    uint64_t width;
    uint32_t height;
    uint32_t pattern;
} mtbi_rows;

/* transfer.metal, embedded by embed_text.sh. */
extern const unsigned char mtbi_transfer_source[];
extern const size_t mtbi_transfer_source_size;

#endif
