/* What pipelines and functions tell about arguments. */
#ifndef SMTL_REFLECTION_H
#define SMTL_REFLECTION_H

#include "../msl/msl.h"
#import <Metal/MTLArgument.h>
#import <Metal/MTLComputePipeline.h>

/* Autoreleased: of each argument an id<MTLBinding>. `owner` keeps the arguments' strings and types. */
NSArray *SMTLReflectBindings(const smtl_argument *arguments, size_t count, id owner);
/* The older class for one argument, autoreleased. */
MTLArgument *SMTLReflectArgument(const smtl_argument *argument, id owner);

@interface MTLComputePipelineReflection (SMTL)
- (instancetype)initWithArguments:(const smtl_argument *)arguments count:(size_t)count owner:(id)owner;
@end

@interface MTLFunctionReflection (SMTL)
- (instancetype)initWithBindings:(NSArray *)bindings;
@end

/* The argument encoder for a binding that came from here; nil where it is no structure. +1. */
@class SMTLDevice;
id<MTLArgumentEncoder> SMTLNewEncoderForBinding(SMTLDevice *device, id<MTLBufferBinding> binding);

#endif
