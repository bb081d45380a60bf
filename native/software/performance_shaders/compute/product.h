/* Products of matrices of any types, as oneDNN's products of floats. */
#ifndef SMTL_PRODUCT_H
#define SMTL_PRODUCT_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* result = alpha * left * right + beta * addend, of the last two dimensions, for each position of those before them.
 * All have the same rank, and the lengths before the last two are the result's. The addend, which has the result's
 * lengths, is not read if beta is 0; it may be the result itself. */
typedef struct {
    smtl_tensor left, right, addend, result;
    float alpha, beta;
} smtl_product;

/* False, with a malloc'd reason or NULL for want of memory. */
bool smtl_product_run(const smtl_product *product, char **reason);

#ifdef __cplusplus
}
#endif
#endif
