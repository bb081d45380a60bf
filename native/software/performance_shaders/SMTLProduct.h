/* Products of regions, recorded in a command buffer. */
#ifndef SMTL_PS_PRODUCT_H
#define SMTL_PS_PRODUCT_H

#import "SMTLShaders.h"

/* result = alpha * left * right + beta * addend; NULL for the addend: the result's old values. */
void SMTLEncodeProduct(const char *where, id<MTLCommandBuffer> commandBuffer, id<MTLDevice> device, SMTLRegion *left,
                       SMTLRegion *right, SMTLRegion *addend, SMTLRegion *result, double alpha, double beta);

#endif
