#import "SMTLGraph.h"

#include "objc_runtime/SMTLBlocks.h"
#include <stdlib.h>

#define UNSIGNED(value) (unsigned long)(value)

@implementation MPSGraphExecutableExecutionDescriptor

- (void)dealloc {
    if (_completionHandler != NULL) Block_release(_completionHandler);
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MPSGraphExecutableExecutionDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setCompletionHandler:_completionHandler];
    return copy;
}

- (MPSGraphExecutableCompletionHandler)completionHandler {
    return _completionHandler;
}

- (void)setCompletionHandler:(MPSGraphExecutableCompletionHandler)completionHandler {
    MPSGraphExecutableCompletionHandler old = _completionHandler;
    _completionHandler = SMTLCopyBlock(completionHandler);
    if (old != NULL) Block_release(old);
}

@end

static BOOL same_shape(const smtl_tensor *a, const smtl_tensor *b) {
    return a->type == b->type && a->rank == b->rank && memcmp(a->lengths, b->lengths, a->rank * sizeof(size_t)) == 0;
}

static NSString *describe(const smtl_tensor *tensor) {
    return [NSString
        stringWithFormat:@"%@ of %@", SMTLDescribeLengths(tensor->lengths, tensor->rank), SMTLNameOfType(tensor->type)];
}

@implementation MPSGraphExecutable

@synthesize options = _options;
@synthesize feedTensors = _feedTensors;
@synthesize targetTensors = _targetTensors;

/* The shape that a placeholder is fed, which its own must admit. */
- (smtl_tensor)shapeOfFeed:(MPSGraphTensor *)feed type:(MPSGraphShapedType *)type where:(const char *)where {
    SMTL_REQUIRE([type dataType] == [feed dataType], where,
                 @"the feed \"%@\" has type %@: it must be the placeholder's, %@", [[feed operation] name],
                 SMTLNameOfType([type dataType]), SMTLNameOfType([feed dataType]));
    MPSShape *given = [type shape] == nil ? [feed shape] : [type shape], *stated = [feed shape];
    const smtl_tensor tensor = SMTLTensorOfShape(where, given, [type dataType]);
    BOOL fits = stated == nil || [stated count] == tensor.rank;
    for (uint32_t i = 0; stated != nil && fits && i < tensor.rank; i++) {
        const long long length = [[stated objectAtIndex:i] longLongValue];
        fits = length == -1 || length == (long long)tensor.lengths[i];
    }
    SMTL_REQUIRE(fits, where, @"the feed \"%@\" has shape %@, which the placeholder does not admit",
                 [[feed operation] name], SMTLDescribeLengths(tensor.lengths, tensor.rank));
    return tensor;
}

/* The tensors that the targets need, in the order of their making, with their shapes. */
- (void)planWithTypes:(NSArray *)types where:(const char *)where {
    NSArray *tensors = [_graph tensors];
    const NSUInteger count = [tensors count];
    NSMutableData *shapes = [NSMutableData dataWithLength:count * sizeof(smtl_tensor)];
    NSMutableData *needed = [NSMutableData dataWithLength:count];
    smtl_tensor *shape = [shapes mutableBytes];
    uint8_t *need = [needed mutableBytes];
    for (MPSGraphTensor *target in _targetTensors) {
        SMTL_REQUIRE([tensors indexOfObjectIdenticalTo:target] != NSNotFound, where,
                     @"a target belongs to another graph");
        need[[target index]] = 1;
    }
    for (NSUInteger i = count; i-- > 0;)
        for (MPSGraphTensor *input in need[i] ? [[[tensors objectAtIndex:i] operation] inputTensors] : nil)
            need[[input index]] = 1;
    NSMutableArray *steps = [NSMutableArray array];
    for (NSUInteger i = 0; i < count; i++) {
        if (!need[i]) continue;
        MPSGraphTensor *tensor = [tensors objectAtIndex:i];
        SMTLGraphOperation *operation = (SMTLGraphOperation *)[tensor operation];
        if ([operation isPlaceholder]) {
            const NSUInteger feed = [_feedTensors indexOfObjectIdenticalTo:tensor];
            SMTL_REQUIRE(feed != NSNotFound, where, @"the placeholder \"%@\" needs a feed", [operation name]);
            shape[i] = [self shapeOfFeed:tensor type:[types objectAtIndex:feed] where:where];
        } else if ([operation isSource]) {
            shape[i] = SMTLTensorOfShape(where, [operation shape], [operation type]);
        } else {
            smtl_tensor inputs[SMTL_MAX_RANK];
            NSUInteger next = 0;
            for (MPSGraphTensor *input in [operation inputTensors]) inputs[next++] = shape[[input index]];
            shape[i] = [operation resultOf:inputs where:where];
            SMTLPackTensor(&shape[i]);
        }
        [steps addObject:tensor];
    }
    _steps = [steps copy];
    _shapes = [shapes copy];
}

- (instancetype)initWithGraph:(MPSGraph *)graph
                       device:(id<MTLDevice>)device
                        feeds:(NSArray *)feeds
                        types:(NSArray *)types
                      targets:(NSArray *)targets
                        where:(const char *)where {
    self = [super init];
    _graph = [graph retain];
    _device = [device retain];
    _feedTensors = [feeds copy];
    _targetTensors = [targets copy];
    _options = MPSGraphOptionsDefault;
    @try {
        [self planWithTypes:types where:where];
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    return self;
}

- (void)dealloc {
    [_steps release];
    [_shapes release];
    [_targetTensors release];
    [_feedTensors release];
    [_device release];
    [_graph release];
    [super dealloc];
}

/* A buffer for what nobody but the graph's operations sees, or for a result. */
- (SMTLRegion)regionFor:(const smtl_tensor *)shape
                 device:(id<MTLDevice>)device
                options:(MTLResourceOptions)options
                  where:(const char *)where {
    id<MTLBuffer> buffer = [[device newBufferWithLength:SMTLTensorExtent(shape) options:options] autorelease];
    SMTL_REQUIRE(buffer != nil, where, @"no memory for a tensor of shape %@", describe(shape));
    return (SMTLRegion){buffer, 0, *shape};
}

- (void)checkData:(NSArray *)data of:(NSArray *)tensors name:(NSString *)name where:(const char *)where {
    const smtl_tensor *shapes = [_shapes bytes];
    SMTL_REQUIRE([data count] == [tensors count], where, @"there are %lu %@: the executable needs %lu",
                 UNSIGNED([data count]), name, UNSIGNED([tensors count]));
    for (NSUInteger i = 0; i < [data count]; i++) {
        const SMTLRegion region = [(MPSGraphTensorData *)[data objectAtIndex:i] region];
        const smtl_tensor *shape = &shapes[[(MPSGraphTensor *)[tensors objectAtIndex:i] index]];
        /* What no target needs has no shape. */
        SMTL_REQUIRE(shape->type == 0 || same_shape(shape, &region.tensor), where,
                     @"number %lu of the %@ is %@: the executable needs %@", UNSIGNED(i), name,
                     describe(&region.tensor), describe(shape));
    }
}

/* Memory for every tensor: what is fed, constants, the results' where an operation can write there at once, and more.
 */
- (void)allocateInputs:(NSArray *)inputs
               results:(NSArray *)results
               regions:(SMTLRegion *)regions
                device:(id<MTLDevice>)device
                 where:(const char *)where {
    const smtl_tensor *shapes = [_shapes bytes];
    for (MPSGraphTensor *tensor in _steps) {
        SMTLGraphOperation *operation = (SMTLGraphOperation *)[tensor operation];
        SMTLRegion *region = &regions[[tensor index]];
        const smtl_tensor *shape = &shapes[[tensor index]];
        const NSUInteger target = [_targetTensors indexOfObjectIdenticalTo:tensor];
        if ([operation isPlaceholder]) {
            const NSUInteger feed = [_feedTensors indexOfObjectIdenticalTo:tensor];
            *region = [(MPSGraphTensorData *)[inputs objectAtIndex:feed] region];
        } else if ([operation isSource]) {
            *region = (SMTLRegion){[operation bufferForDevice:device], 0, *shape};
            SMTL_REQUIRE(region->buffer != nil, where, @"no memory for a constant of shape %@", describe(shape));
        } else {
            const SMTLRegion first = regions[[(MPSGraphTensor *)[[operation inputTensors] objectAtIndex:0] index]];
            *region = (SMTLRegion){first.buffer, first.offset, *shape};
            if (![operation view:&first.tensor result:&region->tensor]) {
                *region = target != NSNotFound ? [(MPSGraphTensorData *)[results objectAtIndex:target] region]
                                               : [self regionFor:shape device:device
                                                         options:MTLResourceStorageModePrivate
                                                           where:where];
            }
        }
    }
}

/* YES if the operation's result is memory of its own. */
static BOOL is_computed(SMTLGraphOperation *operation, const SMTLRegion *regions, const SMTLRegion *region) {
    if ([operation isSource]) return NO;
    const SMTLRegion *first = &regions[[(MPSGraphTensor *)[[operation inputTensors] objectAtIndex:0] index]];
    smtl_tensor view = region->tensor;
    return ![operation view:&first->tensor result:&view];
}

- (void)record:(MPSGraphTensor *)tensor
       regions:(SMTLRegion *)regions
       encoder:(SMTLCommandEncoder *)encoder
         where:(const char *)where {
    SMTLGraphOperation *operation = (SMTLGraphOperation *)[tensor operation];
    SMTLRegion *result = &regions[[tensor index]];
    if (!is_computed(operation, regions, result)) return;
    smtl_tensor tensors[SMTL_MAX_RANK];
    SMTLHostAccess accesses[SMTL_MAX_RANK + 1];
    NSUInteger count = 0;
    for (MPSGraphTensor *input in [operation inputTensors]) {
        SMTLRegion *region = &regions[[input index]];
        accesses[count] = SMTLAccessRegion(where, region, encoder->_device, NO);
        tensors[count++] = region->tensor;
    }
    accesses[count] = SMTLAccessRegion(where, result, encoder->_device, YES);
    const SMTLGraphStep step = {where, encoder, accesses, count + 1};
    [operation record:&step inputs:tensors result:&result->tensor];
}

/* Copies what no operation has written where the result is wanted. */
- (void)copyResults:(NSArray *)results
            regions:(SMTLRegion *)regions
            encoder:(SMTLCommandEncoder *)encoder
              where:(const char *)where {
    for (NSUInteger i = 0; i < [results count]; i++) {
        SMTLRegion *source = &regions[[(MPSGraphTensor *)[_targetTensors objectAtIndex:i] index]];
        SMTLRegion wanted = [(MPSGraphTensorData *)[results objectAtIndex:i] region];
        if (source->buffer != wanted.buffer || source->offset != wanted.offset ||
            memcmp(source->tensor.strides, wanted.tensor.strides, wanted.tensor.rank * sizeof(size_t)) != 0) {
            const SMTLHostAccess accesses[] = {SMTLAccessRegion(where, source, encoder->_device, NO),
                                               SMTLAccessRegion(where, &wanted, encoder->_device, YES)};
            const SMTLGraphStep step = {where, encoder, accesses, 2};
            SMTLRecordCopy(&step, &source->tensor, &wanted.tensor);
        }
    }
}

- (NSArray *)encodeTo:(id<MTLCommandBuffer>)commandBuffer
               inputs:(NSArray *)inputs
              results:(NSArray *)results
                where:(const char *)where {
    SMTL_REQUIRE(commandBuffer != nil, where, @"commandBuffer must not be nil");
    id<MTLDevice> device = _device == nil ? [commandBuffer device] : _device;
    SMTLCommandBuffer *own = SMTLCheckCommandBuffer(where, commandBuffer, device);
    [self checkData:inputs of:_feedTensors name:@"inputs" where:where];
    const smtl_tensor *shapes = [_shapes bytes];
    if (results == nil) {
        NSMutableArray *made = [NSMutableArray array];
        for (MPSGraphTensor *target in _targetTensors) {
            const SMTLRegion region = [self regionFor:&shapes[[target index]] device:device
                                              options:MTLResourceStorageModeShared
                                                where:where];
            MPSNDArray *array = [[[MPSNDArray alloc] initWithRegion:&region parent:nil ofUser:NO] autorelease];
            [made addObject:[[[MPSGraphTensorData alloc] initWithMPSNDArray:array] autorelease]];
        }
        results = made;
    }
    [self checkData:results of:_targetTensors name:@"results" where:where];
    NSMutableData *memory = [NSMutableData dataWithLength:[[_graph tensors] count] * sizeof(SMTLRegion)];
    SMTLRegion *regions = [memory mutableBytes];
    [self allocateInputs:inputs results:results regions:regions device:device where:where];
    SMTLCommandEncoder *encoder = (SMTLCommandEncoder *)[own blitCommandEncoder];
    @try {
        for (MPSGraphTensor *tensor in _steps) [self record:tensor regions:regions encoder:encoder where:where];
        [self copyResults:results regions:regions encoder:encoder where:where];
    } @finally {
        [encoder endEncoding];
    }
    for (MPSGraphTensorData *result in _options &MPSGraphOptionsSynchronizeResults ? results : nil)
        [[result mpsndarray] synchronizeOnCommandBuffer:own];
    return results;
}

- (NSArray *)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                       inputsArray:(NSArray *)inputsArray
                      resultsArray:(NSArray *)resultsArray
               executionDescriptor:(MPSGraphExecutableExecutionDescriptor *)executionDescriptor {
    const char *where = "-[MPSGraphExecutable encodeToCommandBuffer:inputsArray:resultsArray:executionDescriptor:]";
    NSArray *results = [self encodeTo:commandBuffer inputs:inputsArray results:resultsArray where:where];
    MPSGraphExecutableCompletionHandler handler = [executionDescriptor completionHandler];
    if (handler != NULL)
        [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer> completed) { handler(results, [completed error]); }];
    return results;
}

- (NSArray *)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                        inputsArray:(NSArray *)inputsArray
                       resultsArray:(NSArray *)resultsArray
                executionDescriptor:(MPSGraphExecutableExecutionDescriptor *)executionDescriptor {
    __block NSArray *results = nil;
    SMTLRunGraph("-[MPSGraphExecutable runWithMTLCommandQueue:inputsArray:resultsArray:executionDescriptor:]",
                 commandQueue, ^(MPSCommandBuffer *commandBuffer) {
                     results = [self encodeToCommandBuffer:commandBuffer inputsArray:inputsArray
                                              resultsArray:resultsArray
                                       executionDescriptor:executionDescriptor];
                 });
    return results;
}

@end
