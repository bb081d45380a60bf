/* Arrays as the kernels see them. */
#ifndef SMTL_ARRAY_H
#define SMTL_ARRAY_H

#import "SMTLShaders.h"

@interface MPSNDArray (SMTLRegions)
/* An array over part of a buffer; the tensor's address does not count. Keeps `parent`, which may be nil. */
- (instancetype)initWithRegion:(const SMTLRegion *)region parent:(MPSNDArray *)parent ofUser:(BOOL)ofUser;
/* The array's elements, the slowest dimension first. */
- (SMTLRegion)region;
@end

/* Strides for the tensor's lengths without gaps. */
void SMTLPackTensor(smtl_tensor *tensor);
BOOL SMTLIsPacked(const smtl_tensor *tensor);

/* Lengths as Foundation has them. */
MPSShape *SMTLShapeOfTensor(const smtl_tensor *tensor);
/* A tensor of that shape and type without gaps; raises for more than 16 dimensions, and for lengths that are negative
 * or whose product is not below 2^31. */
smtl_tensor SMTLTensorOfShape(const char *where, MPSShape *shape, MPSDataType type);

#endif
