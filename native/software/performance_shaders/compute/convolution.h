/* Convolutions of any floats, as oneDNN's of float32. */
#ifndef SMTL_PS_CONVOLUTION_H
#define SMTL_PS_CONVOLUTION_H

#include "dnnl.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Source and result: batch, channels, height, width. Weights: output channels, input channels of a group, height,
 * width. What follows: height, width. */
typedef struct {
    smtl_tensor source, weights, result;
    uint32_t groups;
    uint32_t strides[2], dilations[2], before[2], after[2];
    smtl_dnnl_weights *kept; /* of weights that never change; otherwise NULL */
} smtl_convolution_call;

/* False, with a malloc'd reason or NULL for want of memory. */
bool smtl_convolution_run(const smtl_convolution_call *call, char **reason);

#ifdef __cplusplus
}
#endif
#endif
