#import "SMTLGraph.h"

#include "performance_shaders/compute/elementwise.h"
#include "performance_shaders/compute/rows.h"

static bool run_reduction(const void *argument, smtl_host_failure *failure) {
    return smtl_reduction_run(argument, &failure->message);
}

static bool run_softmax(const void *argument, smtl_host_failure *failure) {
    return smtl_softmax_run(argument, &failure->message);
}

/* The dimensions that `moved` names come last. */
static smtl_tensor reorder(const smtl_tensor *tensor, const bool *moved, bool keep) {
    smtl_tensor result = {.bytes = tensor->bytes, .type = tensor->type};
    for (int last = 0; last < (keep ? 2 : 1); last++) {
        for (uint32_t i = 0; i < tensor->rank; i++) {
            if (moved[i] == last) {
                result.lengths[result.rank] = tensor->lengths[i];
                result.strides[result.rank++] = tensor->strides[i];
            }
        }
    }
    return result;
}

/* A mean, or a variance around a mean that may be given. */
@interface SMTLReduction : SMTLGraphOperation {
@public
    NSArray *_axes;
    BOOL _variance;
}
@end

@implementation SMTLReduction

- (void)dealloc {
    [_axes release];
    [super dealloc];
}

- (void)mark:(bool *)reduced of:(const smtl_tensor *)tensor where:(const char *)where {
    memset(reduced, 0, SMTL_MAX_RANK * sizeof *reduced);
    for (NSNumber *axis in _axes) reduced[SMTLCheckAxis(where, [axis longLongValue], tensor)] = true;
}

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    smtl_tensor result = inputs[0];
    bool reduced[SMTL_MAX_RANK];
    [self mark:reduced of:inputs where:where];
    for (uint32_t i = 0; i < result.rank; i++) result.lengths[i] = reduced[i] ? 1 : result.lengths[i];
    if ([_inputTensors count] == 2) {
        smtl_tensor mean = inputs[1];
        SMTLBroadcastTensor(where, @"mean", &mean, result.lengths, result.rank, 0);
    }
    return result;
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    bool reduced[SMTL_MAX_RANK];
    [self mark:reduced of:inputs where:step->where];
    smtl_reduction call = {
        .source = reorder(inputs, reduced, true), .result = reorder(result, reduced, false), .variance = _variance};
    if ([_inputTensors count] == 2) {
        smtl_tensor mean = inputs[1];
        SMTLBroadcastTensor(step->where, @"mean", &mean, result->lengths, result->rank, 0);
        call.mean = reorder(&mean, reduced, false);
    }
    SMTLRecordStep(step, run_reduction, &call, sizeof call);
}

@end

@interface SMTLSoftMax : SMTLGraphOperation {
@public
    NSInteger _axis;
}
@end

@implementation SMTLSoftMax

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    SMTLCheckAxis(where, _axis, inputs);
    return inputs[0];
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    bool moved[SMTL_MAX_RANK] = {false};
    moved[SMTLCheckAxis(step->where, _axis, inputs)] = true;
    const smtl_softmax call = {reorder(inputs, moved, true), reorder(result, moved, true), false};
    SMTLRecordStep(step, run_softmax, &call, sizeof call);
}

@end

void SMTLNameReductions(void) {}

@implementation MPSGraph (SMTLReductions)

- (MPSGraphTensor *)reduce:(NSArray *)inputs
                      axes:(NSArray *)axes
                  variance:(BOOL)variance
                      name:(NSString *)name
                     where:(const char *)where {
    SMTLReduction *reduction = [[SMTLReduction alloc] initWithInputs:inputs name:name];
    reduction->_axes = [axes copy];
    reduction->_variance = variance;
    return [self add:reduction where:where];
}

- (MPSGraphTensor *)meanOfTensor:(MPSGraphTensor *)tensor axes:(NSArray *)axes name:(NSString *)name {
    const char *where = "-[MPSGraph meanOfTensor:axes:name:]";
    SMTL_REQUIRE(tensor != nil && axes != nil, where, @"the tensor and the axes must not be nil");
    return [self reduce:[NSArray arrayWithObject:tensor] axes:axes variance:NO name:name where:where];
}

- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor
                          meanTensor:(MPSGraphTensor *)meanTensor
                                axes:(NSArray *)axes
                                name:(NSString *)name {
    const char *where = "-[MPSGraph varianceOfTensor:meanTensor:axes:name:]";
    SMTL_REQUIRE(tensor != nil && meanTensor != nil && axes != nil, where, @"the tensors and the axes must not be nil");
    return [self reduce:[NSArray arrayWithObjects:tensor, meanTensor, nil] axes:axes variance:YES name:name
                  where:where];
}

- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor axes:(NSArray *)axes name:(NSString *)name {
    const char *where = "-[MPSGraph varianceOfTensor:axes:name:]";
    SMTL_REQUIRE(tensor != nil && axes != nil, where, @"the tensor and the axes must not be nil");
    return [self reduce:[NSArray arrayWithObject:tensor] axes:axes variance:YES name:name where:where];
}

- (MPSGraphTensor *)softMaxWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(NSString *)name {
    const char *where = "-[MPSGraph softMaxWithTensor:axis:name:]";
    SMTL_REQUIRE(tensor != nil, where, @"the tensor must not be nil");
    SMTLSoftMax *softmax = [[SMTLSoftMax alloc] initWithInputs:[NSArray arrayWithObject:tensor] name:name];
    softmax->_axis = axis;
    return [self add:softmax where:where];
}

@end
