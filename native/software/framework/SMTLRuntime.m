/* All of the software Metal's classes are initialised by one thread, before there are others: SMTLFoundation.m says
 * why. */
#include "SMTLRuntime.h"

#import "SMTLArgumentEncoder.h"
#import "SMTLBlitEncoder.h"
#import "SMTLBuffer.h"
#import "SMTLComputeEncoder.h"
#import "SMTLComputePipeline.h"
#import "SMTLFoundation.h"
#import "SMTLFunction.h"
#import "SMTLHeap.h"
#import "SMTLLibrary.h"
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
