/* Regions of matrices and vectors. */
#ifndef SMTL_MATRIX_H
#define SMTL_MATRIX_H

#import "SMTLShaders.h"

/* Matrices that a kernel processes; NSUIntegerMax as the size stands for all that every matrix has. */
typedef struct {
    NSUInteger start;
    NSUInteger size;
} SMTLBatch;

/* The batch as the kernel's properties state it, where the fewest of its matrices are `available`. */
SMTLBatch SMTLCheckBatch(const char *where, NSUInteger start, NSUInteger size, NSUInteger available);

/* `rows` by `columns` numbers from `origin` on, of each matrix of the batch; raises, with the matrix's `name`, if the
 * matrix is nil or smaller. */
SMTLRegion SMTLMatrixRegion(const char *where, NSString *name, MPSMatrix *matrix, MTLOrigin origin, NSUInteger rows,
                            NSUInteger columns, SMTLBatch batch);
/* The same of a vector, as a matrix of one column. */
SMTLRegion SMTLVectorRegion(const char *where, NSString *name, MPSVector *vector, MTLOrigin origin, NSUInteger length,
                            SMTLBatch batch);

#endif
