#ifndef SMTL_COMPUTE_PIPELINE_H
#define SMTL_COMPUTE_PIPELINE_H

#include "engine/engine.h"
#import "framework/device/SMTLDevice.h"
#import "framework/library/SMTLForwardProgress.h"
#include "msl/msl.h"

@class SMTLFunction;
@class SMTLLinking;

@interface SMTLComputePipeline : SMTLObject <MTLComputePipelineState> {
@public
    SMTLDevice *_device;
    smtl_kernel *_kernel;
    smtl_argument *_arguments; /* those that the kernel takes; their strings are the library's */
    size_t _argumentCount;
    NSUInteger _maxThreads;
    NSUInteger _staticMemory;
    MTLSize _requiredThreads; /* of a threadgroup; all zero: any number up to `_maxThreads` */
    uint64_t _retained_by;
    SMTLLinking *_linking; /* retained */
    uint64_t _handle; /* by which kernels name it */
    BOOL _supportsIndirect;
@protected
    SMTLFunction *_function;
    MTLShaderValidation _shaderValidation;
    SMTLForwardProgressUsage _forwardProgressUsage;
}
/* nil, and an autoreleased error, if the kernel cannot be compiled or loaded. */
- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLComputePipelineDescriptor *)descriptor
                         error:(NSError **)error;
/* Of macOS 27. */
- (SMTLForwardProgressUsage)forwardProgressUsage;
/* Autoreleased. */
- (MTLComputePipelineReflection *)reflectArguments;
@end

#endif
