/* The software Metal: Apple's Metal interface for compute work, on GNUstep. Names, types and values are those of
 * Apple's public documentation; textures and rendering are absent. */
#ifndef SMTL_METAL_H
#define SMTL_METAL_H

#import <Metal/MTLAllocation.h>
#import <Metal/MTLArgument.h>
#import <Metal/MTLArgumentEncoder.h>
#import <Metal/MTLBinaryArchive.h>
#import <Metal/MTLBlitCommandEncoder.h>
#import <Metal/MTLBlitPass.h>
#import <Metal/MTLBuffer.h>
#import <Metal/MTLCaptureManager.h>
#import <Metal/MTLCaptureScope.h>
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLCommandQueue.h>
#import <Metal/MTLComputeCommandEncoder.h>
#import <Metal/MTLComputePass.h>
#import <Metal/MTLComputePipeline.h>
#import <Metal/MTLCounters.h>
#import <Metal/MTLDataType.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLDevice.h>
#import <Metal/MTLDynamicLibrary.h>
#import <Metal/MTLEvent.h>
#import <Metal/MTLFence.h>
#import <Metal/MTLFunctionConstantValues.h>
#import <Metal/MTLFunctionDescriptor.h>
#import <Metal/MTLFunctionHandle.h>
#import <Metal/MTLFunctionLog.h>
#import <Metal/MTLHeap.h>
#import <Metal/MTLIndirectCommandBuffer.h>
#import <Metal/MTLIndirectCommandEncoder.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLLinkedFunctions.h>
#import <Metal/MTLLogState.h>
#import <Metal/MTLPipeline.h>
#import <Metal/MTLResidencySet.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLTypes.h>
#import <Metal/MTLVisibleFunctionTable.h>

#endif
