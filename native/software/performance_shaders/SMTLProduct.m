#import "SMTLProduct.h"

#include "compute/product.h"

static bool run_product(const void *argument, smtl_host_failure *failure) {
    return smtl_product_run(argument, &failure->message);
}

void SMTLEncodeProduct(const char *where, id<MTLCommandBuffer> commandBuffer, id<MTLDevice> device, SMTLRegion *left,
                       SMTLRegion *right, SMTLRegion *addend, SMTLRegion *result, double alpha, double beta) {
    SMTLCommandBuffer *own = SMTLCheckCommandBuffer(where, commandBuffer, device);
    SMTLRegion *added = addend == NULL ? result : addend;
    const SMTLHostAccess accesses[] = {
        SMTLAccessRegion(where, left, (SMTLDevice *)device, NO),
        SMTLAccessRegion(where, right, (SMTLDevice *)device, NO),
        SMTLAccessRegion(where, added, (SMTLDevice *)device, NO),
        SMTLAccessRegion(where, result, (SMTLDevice *)device, YES),
    };
    const smtl_product product = {.left = left->tensor,
                                  .right = right->tensor,
                                  .addend = added->tensor,
                                  .result = result->tensor,
                                  .alpha = (float)alpha,
                                  .beta = (float)beta};
    SMTLEncodeHostCommand(own, where, run_product, &product, sizeof product, accesses,
                          sizeof accesses / sizeof accesses[0]);
}
