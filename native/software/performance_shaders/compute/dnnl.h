/* oneDNN, which computes products and convolutions: found and loaded when it is first needed, so that nothing else
 * needs it. Versions 2 and 3 differ in their calls; this hides it. */
#ifndef SMTL_DNNL_H
#define SMTL_DNNL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* c = alpha * op(a) * op(b) + beta * c, of rows that follow each other after `lda`, `ldb` and `ldc` numbers; c is not
 * read if beta is 0. False, with a malloc'd reason, if the library is missing or refuses. */
bool smtl_dnnl_product(bool transpose_a, bool transpose_b, int64_t rows, int64_t columns, int64_t interior, float alpha,
                       const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc,
                       char **reason);

typedef struct {
    /* Batch, channels, height, width; strides in numbers. For the weights: groups, output and input channels of a
     * group, height, width. */
    int64_t source_lengths[4], source_strides[4];
    int64_t weights_lengths[5], weights_strides[5];
    int64_t result_lengths[4], result_strides[4];
    /* Height, width. */
    int64_t strides[2], dilations[2] /* 0: none */, before[2], after[2];
} smtl_convolution;

/* Weights that never change, in the layout that oneDNN computes with, from the first convolution on. */
typedef struct smtl_dnnl_weights smtl_dnnl_weights;
/* NULL for want of memory. */
smtl_dnnl_weights *smtl_dnnl_weights_create(void);
void smtl_dnnl_weights_free(smtl_dnnl_weights *kept);

/* The same returns. What is compiled for the shape is kept. `kept` is NULL, or belongs to these weights. */
bool smtl_dnnl_convolution(const smtl_convolution *shape, const float *source, const float *weights,
                           smtl_dnnl_weights *kept, float *result, char **reason);

#ifdef __cplusplus
}
#endif
#endif
