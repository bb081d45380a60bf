#ifndef SMTL_MPSMATRIX_MPSMATRIX_H
#define SMTL_MPSMATRIX_MPSMATRIX_H

#import <MetalPerformanceShaders/MPSMatrix/MPSMatrixFindTopK.h>
#import <MetalPerformanceShaders/MPSMatrix/MPSMatrixMultiplication.h>
#import <MetalPerformanceShaders/MPSMatrix/MPSMatrixSoftMax.h>
#import <MetalPerformanceShaders/MPSMatrix/MPSMatrixTypes.h>

#endif
