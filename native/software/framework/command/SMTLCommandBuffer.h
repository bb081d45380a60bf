#ifndef SMTL_COMMAND_BUFFER_H
#define SMTL_COMMAND_BUFFER_H

#import "SMTLCommandBufferLists.h"
#import "SMTLCommandQueue.h"
#import "SMTLEncoderInfo.h"
#include "framework/sync/SMTLCompletion.h"

@class SMTLCommandEncoder;
@class SMTLLogState;

typedef struct {
    smtl_work work; /* first: a pointer to it is a pointer to the whole */
    SMTLCommandBuffer *buffer;
} smtl_command_buffer_work;

@interface SMTLCommandBuffer : SMTLObject <MTLCommandBuffer> {
@public
    smtl_command_buffer_work _work; /* by this the queue's thread and then the completion thread hold it */
    smtl_command_buffer_work _scheduledWork;
    SMTLCommandBuffer *_next; /* in the queue's order; guarded by the queue's mutex */
    BOOL _committed;          /* guarded by the queue's mutex */
    SMTLCommandQueue *_queue;
    SMTLDevice *_device;
    smtl_stream _stream;
    BOOL _retainedReferences;
    uint64_t _serial;
@protected
    MTLCommandBufferErrorOption _errorOptions;
    NSUInteger _status; /* atomic */
    SMTLCommandEncoder *_encoder; /* the open one, not retained */
    BOOL _encoderLost;
    NSUInteger _debugGroups;
    NSMutableSet *_residencySets;
    smtl_retained _retained;
    smtl_handlers _scheduledHandlers;
    smtl_handlers _completedHandlers;
    NSMutableArray *_encoderInfos; /* with MTLCommandBufferErrorOptionEncoderExecutionStatus */
    smtl_completion *_completion;
    SMTLLogState *_logState; /* retained; nil if nobody wants what kernels log */
    struct smtl_log_buffer *_log;
    uint64_t _injectedError; /* an MTLCommandBufferError, 0 for none */
    NSError *_error;
    /* For the kernel sanitizer: what is certainly done when the command buffer is committed, and what is done once it
     * is. */
    smtl_clock *_known;
    smtl_clock *_end;
    CFTimeInterval _kernelStartTime, _kernelEndTime, _GPUStartTime, _GPUEndTime;
}
/* Takes over one of the queue's slots; nil, and the slot given back, when memory runs out. */
- (instancetype)initWithQueue:(SMTLCommandQueue *)queue
           retainedReferences:(BOOL)retained
                 errorOptions:(MTLCommandBufferErrorOption)options
                     logState:(SMTLLogState *)logState;
/* For encoders: the open one ends, or goes without having ended. */
- (void)encoderEnded;
- (void)encoderLost:(SMTLCommandEncoder *)encoder;
/* Retains `object` until the command buffer has finished. */
- (void)keep:(id)object;
/* For the kernel sanitizer: the CPU has seen that the command buffer is done. */
- (void)observeEnd;
/* Releases what only an executing command buffer needs: commands, the objects that they use, handlers. */
- (void)releaseWork;
@end

/* Keeps `object` alive until the command buffer has finished, if its references are retained. */
void SMTLRetainForCommandBuffer(SMTLCommandBuffer *buffer, id object);
/* The same for a resource that notes who retained it last. */
static inline void SMTLRetainOnce(SMTLCommandBuffer *buffer, id object, uint64_t *retained_by) {
    if (__atomic_load_n(retained_by, __ATOMIC_RELAXED) != buffer->_serial) {
        SMTLRetainForCommandBuffer(buffer, object);
        __atomic_store_n(retained_by, buffer->_serial, __ATOMIC_RELAXED);
    }
}

#endif
