/* One thread initialises the classes whose objects several threads may make first, before there are others:
 * SMTLFoundation.m says why. */
#include "SMTLClasses.h"

#import "framework/command/SMTLBlitEncoder.h"
#import "framework/command/SMTLComputeEncoder.h"
#import "framework/library/SMTLArgumentEncoder.h"
#import "framework/library/SMTLComputePipeline.h"
#import "framework/library/SMTLFunction.h"
#import "framework/library/SMTLLibrary.h"
#import "framework/memory/SMTLBuffer.h"
#import "framework/memory/SMTLHeap.h"
#import "objc_runtime/SMTLFoundation.h"
#import <Metal/Metal.h>

void SMTLInitialiseClasses(void) {
    @autoreleasepool {
        const Class classes[] = {
            [SMTLBlitEncoder class],  [SMTLBuffer class],         [SMTLCommandBuffer class],
            [SMTLCommandQueue class], [SMTLComputeEncoder class], [SMTLComputePipeline class],
            [SMTLFunction class],     [SMTLHeap class],           [SMTLLibrary class],
        };
        (void)classes;
        SMTLInitialiseFoundation();
    }
}
