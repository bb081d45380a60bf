/* Metal Performance Shaders: products of matrices and vectors, softmax and top-k of matrices. Names, types and values
 * are those of Apple's public documentation; images, neural network layers and ray tracing are absent. */
#ifndef SMTL_METALPERFORMANCESHADERS_H
#define SMTL_METALPERFORMANCESHADERS_H

#import <MetalPerformanceShaders/MPSCore/MPSCore.h>
#import <MetalPerformanceShaders/MPSMatrix/MPSMatrix.h>
#import <MetalPerformanceShaders/MPSNDArray/MPSNDArray.h>

NS_ASSUME_NONNULL_BEGIN

/* NO for nil. */
MTL_EXTERN BOOL MPSSupportsMTLDevice(id<MTLDevice> _Nullable device);

NS_ASSUME_NONNULL_END
#endif
