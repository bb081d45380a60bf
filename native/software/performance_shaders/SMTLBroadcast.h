/* Shapes that are made to fit each other: dimensions of length 1, and those that are missing in front, are repeated. */
#ifndef SMTL_BROADCAST_H
#define SMTL_BROADCAST_H

#import "SMTLShaders.h"

/* Lengths that all tensors can be repeated to, without the last `kept` of each, which is left out; raises if two
 * differ. */
smtl_tensor SMTLCommonShape(const char *where, const smtl_tensor *const *tensors, NSUInteger count, uint32_t kept);
/* The tensor with `lengths` in place of all but its last `kept` dimensions; raises, with `name`, if they do not fit. */
void SMTLBroadcastTensor(const char *where, NSString *name, smtl_tensor *tensor, const size_t *lengths, uint32_t rank,
                         uint32_t kept);
NSString *SMTLDescribeLengths(const size_t *lengths, uint32_t rank);

#endif
