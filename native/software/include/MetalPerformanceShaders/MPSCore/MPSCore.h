#ifndef SMTL_MPSCORE_H
#define SMTL_MPSCORE_H

#import <MetalPerformanceShaders/MPSCore/MPSCommandBuffer.h>
#import <MetalPerformanceShaders/MPSCore/MPSCoreTypes.h>
#import <MetalPerformanceShaders/MPSCore/MPSKernel.h>
#import <MetalPerformanceShaders/MPSCore/MPSMatrix.h>
#import <MetalPerformanceShaders/MPSCore/MPSNDArray.h>

#endif
