/* What is done to each row of a tensor by itself. */
#ifndef SMTL_ROWS_H
#define SMTL_ROWS_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result has the source's lengths; the last dimension is the row. In place is allowed. */
typedef struct {
    smtl_tensor source, result;
    bool logarithm;
} smtl_softmax;

/* The `count` largest of each row, the largest first, and of equal ones the first; NaN counts as the smallest. `count`
 * is not more than the row has. Indices are of 32 bits. */
typedef struct {
    smtl_tensor source, values, indices;
    uint32_t count, index_offset;
} smtl_top_k;

/* False, with a malloc'd reason or NULL for want of memory. */
bool smtl_softmax_run(const smtl_softmax *softmax, char **reason);
bool smtl_top_k_run(const smtl_top_k *top_k, char **reason);

/* Softmax of `count` floats in place. A row of nothing but -infinity becomes NaN. */
void smtl_softmax_row(float *numbers, size_t count, bool logarithm);

#ifdef __cplusplus
}
#endif
#endif
