/* Copies and fills by the GPU. The calling thread works, and those of the pool join where there is much to move. */
#ifndef SMTL_BLIT_H
#define SMTL_BLIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* memcpy and memset. */
void smtl_blit_copy(void *to, const void *from, size_t size);
void smtl_blit_fill(void *to, uint8_t value, size_t size);

#ifdef __cplusplus
}
#endif
#endif
