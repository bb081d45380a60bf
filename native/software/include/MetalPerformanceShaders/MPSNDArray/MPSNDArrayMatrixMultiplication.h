#ifndef SMTL_MPSNDARRAYMATRIXMULTIPLICATION_H
#define SMTL_MPSNDARRAYMATRIXMULTIPLICATION_H

#import <MetalPerformanceShaders/MPSNDArray/MPSNDArrayKernel.h>

NS_ASSUME_NONNULL_BEGIN

/* C = alpha * A * B + beta * D of the two fastest dimensions, for each element of the others, where lengths of 1 are
 * broadcast. Two sources, or three with D. */
MTL_EXPORT
@interface MPSNDArrayMatrixMultiplication : MPSNDArrayMultiaryKernel {
    double _alpha;
    double _beta;
}
@property (readwrite, nonatomic) double alpha;
@property (readwrite, nonatomic) double beta;
@end

NS_ASSUME_NONNULL_END
#endif
