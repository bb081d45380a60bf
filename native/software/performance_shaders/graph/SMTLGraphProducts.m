#import "SMTLGraph.h"

#include "performance_shaders/compute/attention.h"
#include "performance_shaders/compute/product.h"

static bool run_product(const void *argument, smtl_host_failure *failure) {
    return smtl_product_run(argument, &failure->message);
}

static bool run_attention(const void *argument, smtl_host_failure *failure) {
    return smtl_attention_run(argument, &failure->message);
}

static NSString *lengths_of(const smtl_tensor *tensor) { return SMTLDescribeLengths(tensor->lengths, tensor->rank); }

@interface SMTLMatrixProduct : SMTLGraphOperation
@end

@implementation SMTLMatrixProduct

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    const smtl_tensor *left = &inputs[0], *right = &inputs[1], *both[] = {left, right};
    SMTL_REQUIRE(left->rank >= 2 && right->rank >= 2 &&
                     left->lengths[left->rank - 1] == right->lengths[right->rank - 2],
                 where, @"the shapes %@ and %@ cannot be multiplied", lengths_of(left), lengths_of(right));
    smtl_tensor result = SMTLCommonShape(where, both, 2, 2);
    result.type = _type;
    result.lengths[result.rank] = left->lengths[left->rank - 2];
    result.lengths[result.rank + 1] = right->lengths[right->rank - 1];
    result.rank += 2;
    return result;
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    smtl_product call = {inputs[0], inputs[1], *result, *result, 1, 0};
    SMTLBroadcastTensor(step->where, @"left tensor", &call.left, result->lengths, result->rank - 2, 2);
    SMTLBroadcastTensor(step->where, @"right tensor", &call.right, result->lengths, result->rank - 2, 2);
    SMTLRecordStep(step, run_product, &call, sizeof call);
}

@end

/* Inputs: query, key, value, and maybe a mask. */
@interface SMTLAttention : SMTLGraphOperation {
@public
    float _scale;
}
@end

@implementation SMTLAttention

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    const smtl_tensor *query = &inputs[0], *key = &inputs[1], *value = &inputs[2];
    SMTL_REQUIRE(query->rank == 4 && key->rank == 4 && value->rank == 4, where,
                 @"query %@, key %@ and value %@ must have 4 dimensions", lengths_of(query), lengths_of(key),
                 lengths_of(value));
    SMTL_REQUIRE(key->lengths[0] == query->lengths[0] && value->lengths[0] == query->lengths[0], where,
                 @"query %@, key %@ and value %@ have different batches", lengths_of(query), lengths_of(key),
                 lengths_of(value));
    SMTL_REQUIRE(key->lengths[1] == value->lengths[1] && query->lengths[1] % key->lengths[1] == 0, where,
                 @"the heads of query %@ are not a multiple of those of key %@ and value %@", lengths_of(query),
                 lengths_of(key), lengths_of(value));
    SMTL_REQUIRE(key->lengths[3] == query->lengths[3] && key->lengths[2] == value->lengths[2], where,
                 @"query %@, key %@ and value %@ do not fit each other", lengths_of(query), lengths_of(key),
                 lengths_of(value));
    if ([_inputTensors count] == 4) {
        smtl_tensor mask = inputs[3];
        const size_t scores[] = {query->lengths[0], query->lengths[1], query->lengths[2], key->lengths[2]};
        SMTLBroadcastTensor(where, @"mask", &mask, scores, 4, 0);
    }
    smtl_tensor result = *query;
    result.lengths[3] = value->lengths[3];
    return result;
}

/* Heads as groups of heads that share a key and a value. */
static smtl_tensor split_heads(const smtl_tensor *tensor, size_t groups) {
    const bool shared = tensor->lengths[1] == groups;
    const size_t heads = tensor->lengths[1] / groups;
    return (smtl_tensor){
        .bytes = tensor->bytes,
        .type = tensor->type,
        .rank = 5,
        .lengths = {tensor->lengths[0], groups, heads, tensor->lengths[2], tensor->lengths[3]},
        .strides = {tensor->strides[0], tensor->strides[1] * (shared ? 1 : heads), shared ? 0 : tensor->strides[1],
                    tensor->strides[2], tensor->strides[3]},
    };
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    const size_t groups = inputs[1].lengths[1];
    smtl_attention call = {.query = split_heads(&inputs[0], groups),
                           .key = split_heads(&inputs[1], groups),
                           .value = split_heads(&inputs[2], groups),
                           .result = split_heads(result, groups),
                           .scale = _scale};
    if ([_inputTensors count] == 4) {
        smtl_tensor mask = inputs[3];
        const size_t scores[] = {result->lengths[0], result->lengths[1], result->lengths[2], inputs[1].lengths[2]};
        SMTLBroadcastTensor(step->where, @"mask", &mask, scores, 4, 0);
        call.mask = split_heads(&mask, groups);
    }
    SMTLRecordStep(step, run_attention, &call, sizeof call);
}

@end

void SMTLNameProducts(void) {}

@implementation MPSGraph (MPSGraphMatrixMultiplicationOps)

- (MPSGraphTensor *)matrixMultiplicationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                          secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                     name:(NSString *)name {
    const char *where = "-[MPSGraph matrixMultiplicationWithPrimaryTensor:secondaryTensor:name:]";
    SMTL_REQUIRE(primaryTensor != nil && secondaryTensor != nil, where, @"tensors must not be nil");
    NSArray *inputs = [NSArray arrayWithObjects:primaryTensor, secondaryTensor, nil];
    return [self add:[[SMTLMatrixProduct alloc] initWithInputs:inputs name:name] where:where];
}

- (MPSGraphTensor *)scaledDotProductAttentionWithQueryTensor:(MPSGraphTensor *)queryTensor
                                                   keyTensor:(MPSGraphTensor *)keyTensor
                                                 valueTensor:(MPSGraphTensor *)valueTensor
                                                  maskTensor:(MPSGraphTensor *)maskTensor
                                                       scale:(float)scale
                                                        name:(NSString *)name {
    const char *where = "-[MPSGraph scaledDotProductAttentionWithQueryTensor:...]";
    SMTL_REQUIRE(queryTensor != nil && keyTensor != nil && valueTensor != nil, where, @"tensors must not be nil");
    /* A mask of nil ends the list. */
    NSArray *inputs = [NSArray arrayWithObjects:queryTensor, keyTensor, valueTensor, maskTensor, nil];
    SMTLAttention *attention = [[SMTLAttention alloc] initWithInputs:inputs name:name];
    attention->_scale = scale;
    return [self add:attention where:where];
}

- (MPSGraphTensor *)scaledDotProductAttentionWithQueryTensor:(MPSGraphTensor *)queryTensor
                                                   keyTensor:(MPSGraphTensor *)keyTensor
                                                 valueTensor:(MPSGraphTensor *)valueTensor
                                                       scale:(float)scale
                                                        name:(NSString *)name {
    return [self scaledDotProductAttentionWithQueryTensor:queryTensor keyTensor:keyTensor valueTensor:valueTensor
                                               maskTensor:nil
                                                    scale:scale
                                                     name:name];
}

@end
