/* A graph's operations: each knows the shape of its result and how to record its work. The graph has their results in
 * the order of their making, so inputs come before what uses them. */
#ifndef SMTL_GRAPH_H
#define SMTL_GRAPH_H

#import "performance_shaders/SMTLArray.h"
#import "performance_shaders/SMTLBroadcast.h"
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

/* One operation's position in a command buffer. */
typedef struct {
    const char *where;
    SMTLCommandEncoder *encoder;
    const SMTLHostAccess *accesses; /* of the inputs and the result */
    NSUInteger count;
} SMTLGraphStep;

void SMTLRecordStep(const SMTLGraphStep *step, smtl_host_function run, const void *argument, size_t size);

/* Copies the elements, converted to the result's type. */
void SMTLRecordCopy(const SMTLGraphStep *step, const smtl_tensor *source, const smtl_tensor *result);

@interface SMTLGraphOperation : MPSGraphOperation {
@protected
    MPSDataType _type; /* of the result: that of the first input, unless a subclass says otherwise */
}
- (instancetype)initWithInputs:(NSArray *)inputs name:(NSString *)name;
- (MPSDataType)type;
/* Raises, when the graph is made, if an input has a type that the operation does not take: by default, if the inputs
 * are not floats of one type. */
- (void)checkTypes:(const char *)where;
/* The result's type and lengths; raises if the inputs' lengths do not fit. */
- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where;
/* YES if the result is the first input with other lengths and strides, which are then set. */
- (BOOL)view:(const smtl_tensor *)input result:(smtl_tensor *)result;
/* Fed, or constant: memory that there is already. */
- (BOOL)isSource;
- (BOOL)isPlaceholder;
/* The shape of a source, as it was stated; nil for any. */
- (MPSShape *)shape;
/* A constant's memory; nil if there is none left. */
- (id<MTLBuffer>)bufferForDevice:(id<MTLDevice>)device;
- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result;
@end

@interface MPSGraphOperation (SMTLBuilding)
- (void)setGraph:(MPSGraph *)graph;
- (void)setOutput:(MPSGraphTensor *)output;
@end

@interface MPSGraphTensor (SMTLBuilding)
- (instancetype)initWithOperation:(SMTLGraphOperation *)operation index:(NSUInteger)index shape:(MPSShape *)shape;
- (NSUInteger)index;
/* In the order of their making. */
- (NSComparisonResult)compare:(MPSGraphTensor *)other;
@end

@interface MPSGraph (SMTLBuilding)
/* The new operation's result. Releases the operation. */
- (MPSGraphTensor *)add:(SMTLGraphOperation *)operation where:(const char *)where;
- (NSArray *)tensors;
@end

@interface MPSGraphTensorData (SMTLRegions)
- (SMTLRegion)region;
@end

@interface MPSGraphExecutable (SMTLCompiling)
/* Raises if the feeds' types do not suit the graph. Feeds and targets are in this order from now on. */
- (instancetype)initWithGraph:(MPSGraph *)graph
                       device:(id<MTLDevice>)device
                        feeds:(NSArray *)feeds
                        types:(NSArray *)types
                      targets:(NSArray *)targets
                        where:(const char *)where;
/* `results` may be nil. */
- (NSArray *)encodeTo:(id<MTLCommandBuffer>)commandBuffer
               inputs:(NSArray *)inputs
              results:(NSArray *)results
                where:(const char *)where;
@end

/* They do nothing. A program that links the library as an archive gets a file only for a name in it, and methods of
 * MPSGraph are not names. */
void SMTLNameMemory(void);
void SMTLNameElementwise(void);
void SMTLNameShapes(void);
void SMTLNameReductions(void);
void SMTLNameProducts(void);
void SMTLNameConvolution(void);

/* Runs the work that `encode` records in a command buffer of the queue; raises if it fails. */
void SMTLRunGraph(const char *where, id<MTLCommandQueue> queue, void (^encode)(MPSCommandBuffer *commandBuffer));

/* An axis that may count from the last dimension; raises if there is no such dimension. */
uint32_t SMTLCheckAxis(const char *where, NSInteger axis, const smtl_tensor *tensor);

#endif
