#ifndef SMTL_COMPUTE_ENCODER_H
#define SMTL_COMPUTE_ENCODER_H

#import "SMTLCommandEncoder.h"
#include "engine/engine.h"
#import <Metal/MTLComputeCommandEncoder.h>

@class SMTLBuffer;
@class SMTLComputePipeline;

@interface SMTLComputeEncoder : SMTLCommandEncoder <MTLComputeCommandEncoder> {
    MTLDispatchType _dispatchType;
    /* What is bound now, for the checks of launches; the stream has its own copy for the execution. Buffers are not
     * retained. */
    SMTLComputePipeline *_pipeline;
    SMTLBuffer *_buffers[SMTL_MAX_BUFFER_ARGUMENTS];
    size_t _lengths[SMTL_MAX_BUFFER_ARGUMENTS]; /* bytes behind the binding; 0: nothing is bound */
    uint32_t _threadgroupLengths[SMTL_MAX_BUFFER_ARGUMENTS];
}
- (void)setDispatchType:(MTLDispatchType)dispatchType;
@end

#endif
