/* Functions of the elements of tensors, of any floats. */
#ifndef SMTL_ELEMENTWISE_H
#define SMTL_ELEMENTWISE_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    SMTL_COPY, /* with a conversion, if the types differ */
    SMTL_RELU,
    SMTL_ADD,
    SMTL_MULTIPLY,
    SMTL_NORMALIZE, /* of the tensor, mean, variance, gamma, beta; the last two may be missing */
} smtl_function;

enum {
    SMTL_MOST_OPERANDS = 5
};

/* All operands have the result's lengths; one without dimensions whose `bytes` are NULL is missing. */
typedef struct {
    smtl_function function;
    uint32_t count;
    float epsilon;
    smtl_tensor operands[SMTL_MOST_OPERANDS], result;
} smtl_elementwise;

/* False, with a malloc'd reason or NULL for want of memory. */
bool smtl_elementwise_run(const smtl_elementwise *elementwise, char **reason);

/* Means or variances over the source's last dimensions: those beyond the result's rank. The mean, which has the
 * result's lengths, is only for variances; without one its `bytes` are NULL, and it is computed. */
typedef struct {
    smtl_tensor source, mean, result;
    bool variance;
} smtl_reduction;

bool smtl_reduction_run(const smtl_reduction *reduction, char **reason);

#ifdef __cplusplus
}
#endif
#endif
