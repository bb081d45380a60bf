#ifndef SMTL_MPSNDARRAY_MPSNDARRAY_H
#define SMTL_MPSNDARRAY_MPSNDARRAY_H

#import <MetalPerformanceShaders/MPSNDArray/MPSNDArrayKernel.h>
#import <MetalPerformanceShaders/MPSNDArray/MPSNDArrayMatrixMultiplication.h>

#endif
