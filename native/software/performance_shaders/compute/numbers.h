/* Rows of numbers of any type, as floats. */
#ifndef SMTL_PS_NUMBERS_H
#define SMTL_PS_NUMBERS_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `type` is readable. */
void smtl_read_numbers(float *to, const uint8_t *from, uint32_t type, size_t stride, size_t count);
/* `type` is one of floats; rounds to the nearest number, and to the even one of two. */
void smtl_write_numbers(uint8_t *to, uint32_t type, size_t stride, const float *from, size_t count);

#ifdef __cplusplus
}
#endif
#endif
