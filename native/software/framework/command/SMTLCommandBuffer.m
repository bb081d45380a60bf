#import "SMTLCommandBuffer.h"

#import "SMTLBlitEncoder.h"
#import "SMTLCommandBufferExecution.h"
#import "SMTLCommandBufferOrder.h"
#import "SMTLComputeEncoder.h"
#import "SMTLPassDescriptors.h"
#import "framework/device/SMTLLogState.h"
#import "framework/memory/SMTLResidencySet.h"
#import "framework/sync/SMTLEvent.h"
#import "support/SMTLError.h"
#include "support/SMTLInjection.h"

static uint64_t last_serial;

void SMTLRetainForCommandBuffer(SMTLCommandBuffer *buffer, id object) {
    if (buffer->_retainedReferences) [buffer keep:object];
}

@implementation SMTLCommandBuffer

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_COMMAND_BUFFER;
}

- (instancetype)initWithQueue:(SMTLCommandQueue *)queue
           retainedReferences:(BOOL)retained
                 errorOptions:(MTLCommandBufferErrorOption)options
                     logState:(SMTLLogState *)logState {
    self = [super init];
    _queue = [queue retain];
    _device = queue->_device;
    _stream.pool = &queue->_core->chunks;
    _retainedReferences = retained;
    _errorOptions = options;
    _logState = [logState retain];
    _serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
    if (options & MTLCommandBufferErrorOptionEncoderExecutionStatus) _encoderInfos = [[NSMutableArray alloc] init];
    _completion = smtl_completion_create();
    if (_completion == NULL) {
        [self release];
        return nil;
    }
    return self;
}

- (void)dealloc {
    smtl_queue_core *core = _queue->_core;
    if (!_committed) {
        [self leaveQueue];
        smtl_queue_core_free_slot(core);
    }
    [self releaseWork];
    [_encoderInfos release];
    [_error release];
    [_logState release];
    smtl_clock_free(_known);
    smtl_clock_free(_end);
    if (_completion != NULL) smtl_completion_release(_completion);
    [_queue release];
    [super dealloc];
}

- (void)keep:(id)object {
    SMTLRetainedAdd(&_retained, object);
}

- (void)releaseWork {
    SMTLRetainedClear(&_retained);
    [_residencySets release];
    _residencySets = nil;
    smtl_stream_clear(&_stream);
    SMTLHandlersClear(&_scheduledHandlers);
    SMTLHandlersClear(&_completedHandlers);
}

/* --- Order in the queue ------------------------------------------------------------------------------------------- */

- (void)enqueue {
    SMTL_REQUIRE([self status] == MTLCommandBufferStatusNotEnqueued, "-[MTLCommandBuffer enqueue]",
                 @"the command buffer is already enqueued or committed");
    smtl_queue_core *core = _queue->_core;
    pthread_mutex_lock(&core->mutex);
    [self joinQueue];
    pthread_mutex_unlock(&core->mutex);
}

- (void)commit {
    const char *where = "-[MTLCommandBuffer commit]";
    SMTL_REQUIRE([self status] < MTLCommandBufferStatusCommitted, where, @"the command buffer is already committed");
    SMTL_REQUIRE(_encoder == nil, where, @"a command encoder is still encoding: endEncoding is missing");
    SMTL_REQUIRE(!_encoderLost, where, @"a command encoder was released without endEncoding");
    _injectedError = smtl_command_buffer_must_fail();
    _work.work.run = SMTLExecuteCommandBuffer;
    _work.buffer = self;
    [self retain];
    smtl_queue_core *core = _queue->_core;
    if (core->order != NULL) _known = smtl_order_known();
    pthread_mutex_lock(&core->mutex);
    if ([self status] == MTLCommandBufferStatusNotEnqueued) [self joinQueue];
    _committed = YES;
    __atomic_store_n(&_status, MTLCommandBufferStatusCommitted, __ATOMIC_RELEASE);
    SMTLHandOver(core);
    pthread_mutex_unlock(&core->mutex);
}

- (void)requireCommitted:(const char *)where {
    SMTL_REQUIRE([self status] >= MTLCommandBufferStatusCommitted, where, @"the command buffer is not committed");
}

- (void)waitUntilScheduled {
    [self requireCommitted:"-[MTLCommandBuffer waitUntilScheduled]"];
    smtl_completion_wait_scheduled(_completion);
}

- (void)waitUntilCompleted {
    [self requireCommitted:"-[MTLCommandBuffer waitUntilCompleted]"];
    smtl_completion_wait_finished(_completion);
    [self observeEnd];
}

/* --- Handlers ----------------------------------------------------------------------------------------------------- */

- (void)addHandler:(MTLCommandBufferHandler)block to:(smtl_handlers *)handlers where:(const char *)where {
    SMTL_REQUIRE(block != NULL, where, @"block must not be nil");
    SMTL_REQUIRE([self status] < MTLCommandBufferStatusCommitted, where,
                 @"the command buffer is committed: handlers must be added before");
    SMTLHandlersAdd(handlers, block);
}

- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
    [self addHandler:block to:&_scheduledHandlers where:"-[MTLCommandBuffer addScheduledHandler:]"];
}

- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
    [self addHandler:block to:&_completedHandlers where:"-[MTLCommandBuffer addCompletedHandler:]"];
}

/* --- Encoding ----------------------------------------------------------------------------------------------------- */

- (void)requireEncoding:(const char *)where {
    SMTL_REQUIRE([self status] < MTLCommandBufferStatusCommitted, where, @"the command buffer is already committed");
    SMTL_REQUIRE(_encoder == nil, where, @"a command encoder is already encoding: end it first");
}

- (id)beginEncoder:(Class)encoderClass dispatchType:(MTLDispatchType)dispatchType where:(const char *)where {
    [self requireEncoding:where];
    smtl_stream_append(&_stream, SMTL_OP_BEGIN_ENCODER, dispatchType == MTLDispatchTypeConcurrent, sizeof(smtl_record));
    SMTLCommandEncoder *encoder = [[[encoderClass alloc] initWithCommandBuffer:self] autorelease];
    if (_encoderInfos != nil) {
        SMTLCommandBufferEncoderInfo *info = [[SMTLCommandBufferEncoderInfo alloc] init];
        [_encoderInfos addObject:info];
        [encoder setInfo:info];
        [info release];
    }
    _encoder = encoder;
    return encoder;
}

- (void)encoderEnded {
    _encoder = nil;
}

- (void)encoderLost:(SMTLCommandEncoder *)encoder {
    if (_encoder == encoder) {
        _encoder = nil;
        _encoderLost = YES;
    }
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
    return [self beginEncoder:[SMTLBlitEncoder class] dispatchType:MTLDispatchTypeSerial
                        where:"-[MTLCommandBuffer blitCommandEncoder]"];
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)blitPassDescriptor {
    const char *where = "-[MTLCommandBuffer blitCommandEncoderWithDescriptor:]";
    SMTL_REQUIRE(blitPassDescriptor != nil, where, @"descriptor must not be nil");
    SMTLBlitEncoder *encoder = [self beginEncoder:[SMTLBlitEncoder class] dispatchType:MTLDispatchTypeSerial
                                            where:where];
    return [self begin:encoder with:[[blitPassDescriptor sampleBufferAttachments] attachmentsWithSamples] where:where];
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
    return [self computeCommandEncoderWithDispatchType:MTLDispatchTypeSerial];
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)dispatchType {
    const char *where = "-[MTLCommandBuffer computeCommandEncoderWithDispatchType:]";
    SMTL_REQUIRE(dispatchType <= MTLDispatchTypeConcurrent, where, @"unknown dispatch type %lu",
                 (unsigned long)dispatchType);
    SMTLComputeEncoder *encoder = [self beginEncoder:[SMTLComputeEncoder class] dispatchType:dispatchType where:where];
    [encoder setDispatchType:dispatchType];
    return encoder;
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(MTLComputePassDescriptor *)computePassDescriptor {
    const char *where = "-[MTLCommandBuffer computeCommandEncoderWithDescriptor:]";
    SMTL_REQUIRE(computePassDescriptor != nil, where, @"descriptor must not be nil");
    id encoder = [self computeCommandEncoderWithDispatchType:[computePassDescriptor dispatchType]];
    NSArray *attachments = [[computePassDescriptor sampleBufferAttachments] attachmentsWithSamples];
    return [self begin:encoder with:attachments where:where];
}

/* A descriptor that raises leaves no encoder open. */
- (id)begin:(SMTLCommandEncoder *)encoder with:(NSArray *)attachments where:(const char *)where {
    @try {
        [encoder takeAttachments:attachments where:where];
    } @catch (NSException *exception) {
        [encoder abandon];
        @throw;
    }
    return encoder;
}

- (void)encodeEvent:(id<MTLEvent>)event value:(uint64_t)value op:(smtl_op)op where:(const char *)where {
    [self requireEncoding:where];
    SMTL_REQUIRE(event != nil, where, @"event must not be nil");
    SMTL_REQUIRE([event conformsToProtocol:@protocol(MTLSharedEvent)] || [event device] == _device, where,
                 @"the event belongs to another device, and is not a shared event");
    smtl_record_event *command = smtl_stream_append(&_stream, op, 0, sizeof *command);
    command->event = (SMTLEvent *)event;
    command->value = value;
    /* Whether or not the command buffer retains its resources, an event that it waits on must outlive the wait. */
    [self keep:event];
}

- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
    [self encodeEvent:event value:value op:SMTL_OP_WAIT_EVENT where:"-[MTLCommandBuffer encodeWaitForEvent:value:]"];
}

- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
    const char *where = "-[MTLCommandBuffer encodeSignalEvent:value:]";
    [self encodeEvent:event value:value op:SMTL_OP_SIGNAL_EVENT where:where];
}

- (void)pushDebugGroup:(NSString *)string {
    SMTL_REQUIRE(string != nil, "-[MTLCommandBuffer pushDebugGroup:]", @"string must not be nil");
    _debugGroups++;
}

- (void)popDebugGroup {
    SMTL_REQUIRE(_debugGroups > 0, "-[MTLCommandBuffer popDebugGroup]", @"no debug group is open");
    _debugGroups--;
}

- (void)useResidencySet:(id<MTLResidencySet>)residencySet {
    [self useResidencySets:&residencySet count:1];
}

- (void)useResidencySets:(const id<MTLResidencySet>[])residencySets count:(NSUInteger)count {
    [self requireEncoding:"-[MTLCommandBuffer useResidencySets:count:]"];
    for (NSUInteger i = 0; i < count; i++)
        SMTLCheckResidencySet("-[MTLCommandBuffer useResidencySets:count:]", residencySets[i], _device);
    _residencySets =
        SMTLAddResidencySets("-[MTLCommandBuffer useResidencySets:count:]", _residencySets, residencySets, count);
}

/* --- State -------------------------------------------------------------------------------------------------------- */

- (MTLCommandBufferStatus)status {
    MTLCommandBufferStatus status = (MTLCommandBufferStatus)__atomic_load_n(&_status, __ATOMIC_ACQUIRE);
    if (status >= MTLCommandBufferStatusCompleted) [self observeEnd];
    return status;
}

- (void)observeEnd {
    if (_queue->_core->order != NULL) smtl_order_observe(&_end);
}

- (NSError *)error {
    /* Written before the status becomes final. */
    return [self status] < MTLCommandBufferStatusCompleted ? nil : [[_error retain] autorelease];
}

/* Metal's shader validation reports here; the software Metal has none. What kernels log goes to log states. */
- (id<MTLLogContainer>)logs {
    return (id<MTLLogContainer>)[NSArray array];
}

/* 0 until the command buffer has come that far. */
- (CFTimeInterval)timeAt:(const CFTimeInterval *)slot {
    CFTimeInterval time;
    __atomic_load(slot, &time, __ATOMIC_RELAXED);
    return time;
}

- (CFTimeInterval)kernelStartTime {
    return [self timeAt:&_kernelStartTime];
}

- (CFTimeInterval)kernelEndTime {
    return [self timeAt:&_kernelEndTime];
}

- (CFTimeInterval)GPUStartTime {
    return [self timeAt:&_GPUStartTime];
}

- (CFTimeInterval)GPUEndTime {
    return [self timeAt:&_GPUEndTime];
}

- (id<MTLDevice>)device {
    return _device;
}

- (id<MTLCommandQueue>)commandQueue {
    return [[_queue retain] autorelease];
}

- (BOOL)retainedReferences {
    return _retainedReferences;
}

- (MTLCommandBufferErrorOption)errorOptions {
    return _errorOptions;
}

@end
