#import "SMTLGraph.h"

#include "performance_shaders/compute/elementwise.h"

static bool run_elementwise(const void *argument, smtl_host_failure *failure) {
    return smtl_elementwise_run(argument, &failure->message);
}

void SMTLRecordCopy(const SMTLGraphStep *step, const smtl_tensor *source, const smtl_tensor *result) {
    const smtl_elementwise copy = {.function = SMTL_COPY, .count = 1, .operands = {*source}, .result = *result};
    SMTLRecordStep(step, run_elementwise, &copy, sizeof copy);
}

/* A function of elements, whose operands are repeated as the result's shape asks. */
@interface SMTLElementwise : SMTLGraphOperation {
    smtl_function _function;
}
- (instancetype)initWithFunction:(smtl_function)function inputs:(NSArray *)inputs name:(NSString *)name;
@end

@implementation SMTLElementwise

- (instancetype)initWithFunction:(smtl_function)function inputs:(NSArray *)inputs name:(NSString *)name {
    self = [super initWithInputs:inputs name:name];
    _function = function;
    return self;
}

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    const smtl_tensor *all[SMTL_MOST_OPERANDS];
    for (NSUInteger i = 0; i < [_inputTensors count]; i++) all[i] = &inputs[i];
    smtl_tensor result = SMTLCommonShape(where, all, [_inputTensors count], 0);
    result.type = _type;
    return result;
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    smtl_elementwise call = {.function = _function, .count = (uint32_t)[_inputTensors count], .result = *result};
    for (uint32_t i = 0; i < call.count; i++) {
        call.operands[i] = inputs[i];
        SMTLBroadcastTensor(step->where, @"operand", &call.operands[i], result->lengths, result->rank, 0);
    }
    SMTLRecordStep(step, run_elementwise, &call, sizeof call);
}

@end

/* Gamma and beta may be missing. The result has the tensor's shape. */
@interface SMTLNormalization : SMTLGraphOperation {
@public
    BOOL _has_gamma, _has_beta;
    float _epsilon;
}
@end

@implementation SMTLNormalization

static void set_operands(const SMTLNormalization *self, const smtl_tensor *inputs, smtl_tensor *operands) {
    memcpy(operands, inputs, 3 * sizeof *operands);
    memset(operands + 3, 0, 2 * sizeof *operands);
    if (self->_has_gamma) operands[3] = inputs[3];
    if (self->_has_beta) operands[4] = inputs[3 + self->_has_gamma];
}

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    static NSString *const names[] = {@"tensor", @"mean", @"variance", @"gamma", @"beta"};
    smtl_tensor operands[SMTL_MOST_OPERANDS];
    set_operands(self, inputs, operands);
    for (int i = 1; i < SMTL_MOST_OPERANDS; i++)
        if (i < 3 || (i == 3 ? _has_gamma : _has_beta))
            SMTLBroadcastTensor(where, names[i], &operands[i], inputs[0].lengths, inputs[0].rank, 0);
    return inputs[0];
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    smtl_elementwise call = {
        .function = SMTL_NORMALIZE, .count = SMTL_MOST_OPERANDS, .epsilon = _epsilon, .result = *result};
    set_operands(self, inputs, call.operands);
    for (uint32_t i = 0; i < call.count; i++)
        if (call.operands[i].bytes != NULL)
            SMTLBroadcastTensor(step->where, @"operand", &call.operands[i], result->lengths, result->rank, 0);
    SMTLRecordStep(step, run_elementwise, &call, sizeof call);
}

@end

#define REQUIRE_TENSORS(...) SMTL_REQUIRE((__VA_ARGS__), where, @"tensors must not be nil")

void SMTLNameElementwise(void) {}

@implementation MPSGraph (MPSGraphArithmeticOps)

- (MPSGraphTensor *)additionWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                              secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                         name:(NSString *)name {
    const char *where = "-[MPSGraph additionWithPrimaryTensor:secondaryTensor:name:]";
    REQUIRE_TENSORS(primaryTensor != nil && secondaryTensor != nil);
    NSArray *inputs = [NSArray arrayWithObjects:primaryTensor, secondaryTensor, nil];
    return [self add:[[SMTLElementwise alloc] initWithFunction:SMTL_ADD inputs:inputs name:name] where:where];
}

- (MPSGraphTensor *)multiplicationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                    secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                               name:(NSString *)name {
    const char *where = "-[MPSGraph multiplicationWithPrimaryTensor:secondaryTensor:name:]";
    REQUIRE_TENSORS(primaryTensor != nil && secondaryTensor != nil);
    NSArray *inputs = [NSArray arrayWithObjects:primaryTensor, secondaryTensor, nil];
    return [self add:[[SMTLElementwise alloc] initWithFunction:SMTL_MULTIPLY inputs:inputs name:name] where:where];
}

@end

@implementation MPSGraph (SMTLElementwise)

- (MPSGraphTensor *)reLUWithTensor:(MPSGraphTensor *)tensor name:(NSString *)name {
    const char *where = "-[MPSGraph reLUWithTensor:name:]";
    REQUIRE_TENSORS(tensor != nil);
    NSArray *inputs = [NSArray arrayWithObject:tensor];
    return [self add:[[SMTLElementwise alloc] initWithFunction:SMTL_RELU inputs:inputs name:name] where:where];
}

- (MPSGraphTensor *)normalizationWithTensor:(MPSGraphTensor *)tensor
                                 meanTensor:(MPSGraphTensor *)mean
                             varianceTensor:(MPSGraphTensor *)variance
                                gammaTensor:(MPSGraphTensor *)gamma
                                 betaTensor:(MPSGraphTensor *)beta
                                    epsilon:(float)epsilon
                                       name:(NSString *)name {
    const char *where = "-[MPSGraph normalizationWithTensor:meanTensor:varianceTensor:...]";
    REQUIRE_TENSORS(tensor != nil && mean != nil && variance != nil);
    NSMutableArray *inputs = [NSMutableArray arrayWithObjects:tensor, mean, variance, nil];
    if (gamma != nil) [inputs addObject:gamma];
    if (beta != nil) [inputs addObject:beta];
    SMTLNormalization *normalization = [[SMTLNormalization alloc] initWithInputs:inputs name:name];
    normalization->_has_gamma = gamma != nil;
    normalization->_has_beta = beta != nil;
    normalization->_epsilon = epsilon;
    return [self add:normalization where:where];
}

@end
