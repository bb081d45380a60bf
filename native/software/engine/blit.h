/* Copies and fills by the GPU. The calling thread works, and those of the pool join if there is much to move. */
#ifndef SMTL_BLIT_H
#define SMTL_BLIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A copy; a fill if `from` is NULL. */
typedef struct {
    uint8_t *to;
    const uint8_t *from;
    size_t size;
    size_t before; /* bytes of all blits before it in the array */
    uint8_t value;
} smtl_blit;

/* Executes the blits in any order, and parts of them at once. No blit may touch bytes that another one writes. */
void smtl_blits_run(const smtl_blit *blits, size_t count);
/* memcpy and memset. */
void smtl_blit_copy(void *to, const void *from, size_t size);
void smtl_blit_fill(void *to, uint8_t value, size_t size);

#ifdef __cplusplus
}
#endif
#endif
