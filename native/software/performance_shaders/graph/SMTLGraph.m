#import "SMTLGraph.h"

#include "objc_runtime/SMTLBlocks.h"

@implementation MPSGraphCompilationDescriptor

@synthesize optimizationLevel = _optimizationLevel;

- (id)copyWithZone:(NSZone *)zone {
    return NSCopyObject(self, 0, zone);
}

@end

@implementation MPSGraphExecutionDescriptor

- (void)dealloc {
    if (_completionHandler != NULL) Block_release(_completionHandler);
    [super dealloc];
}

- (MPSGraphCompletionHandler)completionHandler {
    return _completionHandler;
}

- (void)setCompletionHandler:(MPSGraphCompletionHandler)completionHandler {
    MPSGraphCompletionHandler old = _completionHandler;
    _completionHandler = SMTLCopyBlock(completionHandler);
    if (old != NULL) Block_release(old);
}

@end

void SMTLRunGraph(const char *where, id<MTLCommandQueue> queue, void (^encode)(MPSCommandBuffer *commandBuffer)) {
    SMTL_REQUIRE(queue != nil, where, @"commandQueue must not be nil");
    MPSCommandBuffer *commandBuffer = [MPSCommandBuffer commandBufferFromCommandQueue:queue];
    encode(commandBuffer);
    [commandBuffer commit];
    [commandBuffer waitUntilCompleted];
    SMTL_REQUIRE([commandBuffer error] == nil, where, @"%@", [[commandBuffer error] localizedDescription]);
}

@implementation MPSGraph

+ (void)initialize {
    SMTLNameMemory();
    SMTLNameElementwise();
    SMTLNameShapes();
    SMTLNameReductions();
    SMTLNameProducts();
    SMTLNameConvolution();
}

@synthesize options = _options;

+ (instancetype)new {
    return [[self alloc] init];
}

- (instancetype)init {
    self = [super init];
    _tensors = [[NSMutableArray alloc] init];
    _placeholders = [[NSMutableArray alloc] init];
    _options = MPSGraphOptionsDefault;
    return self;
}

- (void)dealloc {
    for (MPSGraphTensor *tensor in _tensors) [[tensor operation] setGraph:nil];
    [_placeholders release];
    [_tensors release];
    [super dealloc];
}

- (NSArray *)placeholderTensors {
    return [[_placeholders copy] autorelease];
}

- (NSArray *)tensors {
    return _tensors;
}

/* The result's shape; nil while that of an input is not known. */
- (MPSShape *)shapeOf:(SMTLGraphOperation *)operation where:(const char *)where {
    NSArray *inputs = [operation inputTensors];
    smtl_tensor tensors[SMTL_MAX_RANK];
    for (NSUInteger i = 0; i < [inputs count]; i++) {
        MPSGraphTensor *input = [inputs objectAtIndex:i];
        SMTL_REQUIRE([_tensors indexOfObjectIdenticalTo:input] != NSNotFound, where,
                     @"tensor %lu belongs to another graph", (unsigned long)i);
        if ([input shape] == nil || [[input shape] containsObject:[NSNumber numberWithInt:-1]]) return nil;
        tensors[i] = SMTLTensorOfShape(where, [input shape], [input dataType]);
    }
    const smtl_tensor result = [operation resultOf:tensors where:where];
    return SMTLShapeOfTensor(&result);
}

- (MPSGraphTensor *)add:(SMTLGraphOperation *)operation where:(const char *)where {
    [operation autorelease];
    [operation checkTypes:where];
    const BOOL fed = [operation isPlaceholder];
    MPSShape *shape = [operation isSource] ? [operation shape] : [self shapeOf:operation where:where];
    MPSGraphTensor *tensor = [[[MPSGraphTensor alloc] initWithOperation:operation index:[_tensors count]
                                                                  shape:shape] autorelease];
    [operation setGraph:self];
    [_tensors addObject:tensor];
    if (fed) [_placeholders addObject:tensor];
    return tensor;
}

- (MPSGraphExecutable *)compileWithDevice:(MPSGraphDevice *)device
                                    feeds:(MPSGraphTensorShapedTypeDictionary *)feeds
                            targetTensors:(NSArray *)targetTensors
                         targetOperations:(NSArray *)targetOperations
                    compilationDescriptor:(MPSGraphCompilationDescriptor *)compilationDescriptor {
    (void)targetOperations; /* they have no effect but their tensors */
    (void)compilationDescriptor;
    const char *where = "-[MPSGraph compileWithDevice:feeds:targetTensors:...]";
    SMTL_REQUIRE(feeds != nil && targetTensors != nil, where, @"feeds and targetTensors must not be nil");
    id<MTLDevice> metal = [device metalDevice];
    NSArray *tensors = [[feeds allKeys] sortedArrayUsingSelector:@selector(compare:)];
    NSMutableArray *types = [NSMutableArray array];
    for (MPSGraphTensor *tensor in tensors) [types addObject:[feeds objectForKey:tensor]];
    return [[[MPSGraphExecutable alloc] initWithGraph:self device:metal feeds:tensors types:types targets:targetTensors
                                                where:where] autorelease];
}

/* Compiles for these feeds, and encodes. */
- (NSArray *)encodeTo:(id<MTLCommandBuffer>)commandBuffer
                feeds:(NSDictionary *)feeds
              targets:(NSArray *)targets
              results:(NSArray *)results
                where:(const char *)where {
    SMTL_REQUIRE(commandBuffer != nil, where, @"commandBuffer must not be nil");
    SMTL_REQUIRE(feeds != nil, where, @"feeds must not be nil");
    NSArray *tensors = [feeds allKeys];
    NSMutableArray *types = [NSMutableArray array], *inputs = [NSMutableArray array];
    for (MPSGraphTensor *tensor in tensors) {
        MPSGraphTensorData *data = [feeds objectForKey:tensor];
        [inputs addObject:data];
        [types addObject:[[[MPSGraphShapedType alloc] initWithShape:[data shape]
                                                           dataType:[data dataType]] autorelease]];
    }
    MPSGraphExecutable *executable = [[[MPSGraphExecutable alloc] initWithGraph:self device:[commandBuffer device]
                                                                          feeds:tensors
                                                                          types:types
                                                                        targets:targets
                                                                          where:where] autorelease];
    [executable setOptions:_options];
    return [executable encodeTo:commandBuffer inputs:inputs results:results where:where];
}

- (MPSGraphTensorDataDictionary *)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                                                  feeds:(MPSGraphTensorDataDictionary *)feeds
                                          targetTensors:(NSArray *)targetTensors
                                       targetOperations:(NSArray *)targetOperations
                                    executionDescriptor:(MPSGraphExecutionDescriptor *)executionDescriptor {
    (void)targetOperations;
    const char *where = "-[MPSGraph encodeToCommandBuffer:feeds:targetTensors:...]";
    SMTL_REQUIRE(targetTensors != nil, where, @"targetTensors must not be nil");
    NSArray *results = [self encodeTo:commandBuffer feeds:feeds targets:targetTensors results:nil where:where];
    NSDictionary *dictionary = [NSDictionary dictionaryWithObjects:results forKeys:targetTensors];
    [self callHandlerOf:executionDescriptor with:dictionary after:commandBuffer];
    return dictionary;
}

- (void)encodeToCommandBuffer:(MPSCommandBuffer *)commandBuffer
                        feeds:(MPSGraphTensorDataDictionary *)feeds
             targetOperations:(NSArray *)targetOperations
            resultsDictionary:(MPSGraphTensorDataDictionary *)resultsDictionary
          executionDescriptor:(MPSGraphExecutionDescriptor *)executionDescriptor {
    (void)targetOperations;
    const char *where = "-[MPSGraph encodeToCommandBuffer:feeds:targetOperations:resultsDictionary:...]";
    SMTL_REQUIRE(resultsDictionary != nil, where, @"resultsDictionary must not be nil");
    NSArray *targets = [resultsDictionary allKeys];
    NSMutableArray *results = [NSMutableArray array];
    for (MPSGraphTensor *target in targets) [results addObject:[resultsDictionary objectForKey:target]];
    [self encodeTo:commandBuffer feeds:feeds targets:targets results:results where:where];
    [self callHandlerOf:executionDescriptor with:resultsDictionary after:commandBuffer];
}

- (void)callHandlerOf:(MPSGraphExecutionDescriptor *)descriptor
                 with:(NSDictionary *)results
                after:(id<MTLCommandBuffer>)commandBuffer {
    MPSGraphCompletionHandler handler = [descriptor completionHandler];
    if (handler != NULL)
        [commandBuffer addCompletedHandler:^(id<MTLCommandBuffer> completed) { handler(results, [completed error]); }];
}

- (MPSGraphTensorDataDictionary *)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                                                   feeds:(MPSGraphTensorDataDictionary *)feeds
                                           targetTensors:(NSArray *)targetTensors
                                        targetOperations:(NSArray *)targetOperations {
    __block NSDictionary *results = nil;
    SMTLRunGraph("-[MPSGraph runWithMTLCommandQueue:feeds:targetTensors:...]", commandQueue,
                 ^(MPSCommandBuffer *commandBuffer) {
                     results = [self encodeToCommandBuffer:commandBuffer feeds:feeds targetTensors:targetTensors
                                          targetOperations:targetOperations
                                       executionDescriptor:nil];
                 });
    return results;
}

- (void)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                         feeds:(MPSGraphTensorDataDictionary *)feeds
              targetOperations:(NSArray *)targetOperations
             resultsDictionary:(MPSGraphTensorDataDictionary *)resultsDictionary {
    SMTLRunGraph("-[MPSGraph runWithMTLCommandQueue:feeds:targetOperations:resultsDictionary:]", commandQueue,
                 ^(MPSCommandBuffer *commandBuffer) {
                     [self encodeToCommandBuffer:commandBuffer feeds:feeds targetOperations:targetOperations
                               resultsDictionary:resultsDictionary
                             executionDescriptor:nil];
                 });
}

@end
