#import "SMTLShaders.h"

/* A message with or without a result, passed on as it is. */
#define PASS(message) \
    { return [_commandBuffer message]; }

@implementation MPSCommandBuffer

+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
    return [[[self alloc] initWithCommandBuffer:commandBuffer] autorelease];
}

+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)commandQueue {
    SMTL_REQUIRE(commandQueue != nil, "+[MPSCommandBuffer commandBufferFromCommandQueue:]", @"queue must not be nil");
    return [self commandBufferWithCommandBuffer:[commandQueue commandBuffer]];
}

- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
    self = [super init];
    if (commandBuffer == nil) {
        [self release];
        SMTLRaise("-[MPSCommandBuffer initWithCommandBuffer:]", @"commandBuffer must not be nil");
    }
    _commandBuffer = [commandBuffer retain];
    return self;
}

- (void)dealloc {
    [_commandBuffer release];
    [super dealloc];
}

- (id<MTLCommandBuffer>)commandBuffer {
    return _commandBuffer;
}

- (id<MTLCommandBuffer>)rootCommandBuffer {
    id<MTLCommandBuffer> root = _commandBuffer;
    while ([(id)root isKindOfClass:[MPSCommandBuffer class]]) root = [(MPSCommandBuffer *)root commandBuffer];
    return root;
}

- (void)commitAndContinue {
    id<MTLCommandBuffer> next = [[_commandBuffer commandQueue] commandBuffer];
    [_commandBuffer commit];
    [_commandBuffer release];
    _commandBuffer = [next retain];
}

- (id<MTLDevice>)device PASS(device) - (id<MTLCommandQueue>)commandQueue PASS(commandQueue) -
                            (BOOL)retainedReferences PASS(retainedReferences) -
                            (MTLCommandBufferErrorOption)errorOptions PASS(errorOptions) -
                            (NSString *)label PASS(label) - (void)
setLabel:(NSString *)label PASS(setLabel:label) - (CFTimeInterval)kernelStartTime PASS(kernelStartTime) -
         (CFTimeInterval)kernelEndTime PASS(kernelEndTime) - (CFTimeInterval)GPUStartTime PASS(GPUStartTime) -
         (CFTimeInterval)GPUEndTime PASS(GPUEndTime) - (id<MTLLogContainer>)logs PASS(logs) -
         (MTLCommandBufferStatus)status PASS(status) - (NSError *)error PASS(error) - (void)enqueue PASS(enqueue) -
         (void)commit PASS(commit) - (void)waitUntilScheduled PASS(waitUntilScheduled) -
         (void)waitUntilCompleted PASS(waitUntilCompleted) - (void)
addScheduledHandler:(MTLCommandBufferHandler)block PASS(addScheduledHandler:block) -
                    (void)addCompletedHandler
:(MTLCommandBufferHandler)block PASS(addCompletedHandler:block) -
                    (id<MTLBlitCommandEncoder>)blitCommandEncoder PASS(blitCommandEncoder) -
                    (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor
:(MTLBlitPassDescriptor *)blitPassDescriptor PASS(blitCommandEncoderWithDescriptor:blitPassDescriptor) -
                    (id<MTLComputeCommandEncoder>)computeCommandEncoder PASS(computeCommandEncoder) -
                    (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType
:(MTLDispatchType)dispatchType PASS(computeCommandEncoderWithDispatchType:dispatchType) -
                    (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor
:(MTLComputePassDescriptor *)descriptor PASS(computeCommandEncoderWithDescriptor:descriptor) -
                    (void)encodeWaitForEvent
:(id<MTLEvent>)event
value:(uint64_t)value PASS(encodeWaitForEvent:event value:value) - (void)encodeSignalEvent
:(id<MTLEvent>)event
value:(uint64_t)value PASS(encodeSignalEvent:event value:value) -
      (void)pushDebugGroup
:(NSString *)string PASS(pushDebugGroup:string) -
      (void)popDebugGroup PASS(popDebugGroup) -
      (void)useResidencySet
:(id<MTLResidencySet>)residencySet PASS(useResidencySet:residencySet) -
      (void)useResidencySets
:(const id<MTLResidencySet>[])residencySets
count:(NSUInteger)count PASS(useResidencySets:residencySets count:count)

          @end
