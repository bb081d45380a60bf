/* Scaled dot product attention, as two products with a softmax between them. */
#ifndef SMTL_ATTENTION_H
#define SMTL_ATTENTION_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Dimensions: batch, heads, rows, numbers. Keys and values have the query's batch and heads, repeated by strides of 0.
 * The mask, with the lengths of the scores, is added to them; none if its `bytes` are NULL. */
typedef struct {
    smtl_tensor query, key, value, mask, result;
    float scale;
} smtl_attention;

/* False, with a malloc'd reason or NULL for want of memory. */
bool smtl_attention_run(const smtl_attention *attention, char **reason);

#ifdef __cplusplus
}
#endif
#endif
