#ifndef SMTL_LINKING_H
#define SMTL_LINKING_H

#include "msl/msl.h"
#import <Metal/MTLComputePipeline.h>

/* What a pipeline's descriptor links with its kernel, as the compiler takes it. */
@interface SMTLLinking : NSObject {
@public
    smtl_linking _linking;
    NSArray *_functions; /* by their number in the kernel; those for tables come first */
    NSUInteger _functionsForTables;
    NSArray *_libraries; /* SMTLDynamicLibrary, in the order of search */
}
/* Autoreleased; nil for want of memory. Raises if an object is not a dynamic library of the device. */
+ (instancetype)linkingOf:(MTLComputePipelineDescriptor *)descriptor;
@end

/* Those for tables come first. */
NSArray *SMTLLinkedFunctionsOf(MTLLinkedFunctions *linked);

#endif
