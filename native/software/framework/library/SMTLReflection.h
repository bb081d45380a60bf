/* What pipelines and functions tell about arguments. */
#ifndef SMTL_REFLECTION_H
#define SMTL_REFLECTION_H

#include "msl/msl.h"
#import <Metal/MTLArgument.h>
#import <Metal/MTLComputePipeline.h>

@class SMTLLibrary;

/* Autoreleased: of each argument, which are of the library, an id<MTLBinding>. */
NSArray *SMTLReflectBindings(const smtl_argument *arguments, size_t count, SMTLLibrary *library);
/* The older class for one argument, autoreleased. */
MTLArgument *SMTLReflectArgument(const smtl_argument *argument, SMTLLibrary *library);

@interface MTLComputePipelineReflection (SMTL)
- (instancetype)initWithArguments:(const smtl_argument *)arguments count:(size_t)count library:(SMTLLibrary *)library;
@end

@interface MTLFunctionReflection (SMTL)
- (instancetype)initWithBindings:(NSArray *)bindings;
@end

/* The argument encoder for a binding that came from here; nil if it is not a structure. +1. */
@class SMTLDevice;
id<MTLArgumentEncoder> SMTLNewEncoderForBinding(SMTLDevice *device, id<MTLBufferBinding> binding);

#endif
