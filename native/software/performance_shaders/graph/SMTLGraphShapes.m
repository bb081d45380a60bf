#import "SMTLGraph.h"

/* The same elements with other lengths. */
@interface SMTLReshape : SMTLGraphOperation {
@public
    MPSShape *_wanted;
}
@end

@implementation SMTLReshape

- (void)dealloc {
    [_wanted release];
    [super dealloc];
}

/* Types of all kinds. */
- (void)checkTypes:(const char *)where {
    (void)where;
}

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    const size_t count = smtl_tensor_count(inputs);
    NSMutableArray *shape = [NSMutableArray array];
    NSUInteger known = 1, open = NSNotFound;
    for (NSUInteger i = 0; i < [_wanted count]; i++) {
        NSNumber *length = [_wanted objectAtIndex:i];
        if ([length longLongValue] == -1 && open == NSNotFound)
            open = i;
        else
            known *= [length unsignedLongValue];
        [shape addObject:length];
    }
    if (open != NSNotFound && known != 0 && count % known == 0)
        [shape replaceObjectAtIndex:open withObject:[NSNumber numberWithUnsignedLong:count / known]];
    const smtl_tensor result = SMTLTensorOfShape(where, shape, _type);
    SMTL_REQUIRE(smtl_tensor_count(&result) == count, where, @"the shape %@ must have the %lu elements of %@",
                 SMTLDescribeLengths(result.lengths, result.rank), (unsigned long)count,
                 SMTLDescribeLengths(inputs->lengths, inputs->rank));
    return result;
}

- (BOOL)view:(const smtl_tensor *)input result:(smtl_tensor *)result {
    SMTLPackTensor(result);
    return SMTLIsPacked(input);
}

/* Into packed memory, in the input's order. */
- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    smtl_tensor target = *inputs;
    target.bytes = result->bytes;
    SMTLPackTensor(&target);
    SMTL_REQUIRE(SMTLIsPacked(result), step->where, @"a reshape of a strided tensor cannot be a strided result");
    SMTLRecordCopy(step, inputs, &target);
}

@end

@interface SMTLTranspose : SMTLGraphOperation {
@public
    NSUInteger _first, _second;
}
@end

@implementation SMTLTranspose

- (void)checkTypes:(const char *)where {
    (void)where;
}

static void exchange(size_t *values, NSUInteger first, NSUInteger second) {
    const size_t kept = values[first];
    values[first] = values[second];
    values[second] = kept;
}

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    smtl_tensor result = *inputs;
    SMTL_REQUIRE(_first < result.rank && _second < result.rank, where,
                 @"dimensions %lu and %lu must be less than %u, the tensor's number of dimensions",
                 (unsigned long)_first, (unsigned long)_second, result.rank);
    exchange(result.lengths, _first, _second);
    return result;
}

- (BOOL)view:(const smtl_tensor *)input result:(smtl_tensor *)result {
    memcpy(result->strides, input->strides, sizeof result->strides);
    exchange(result->strides, _first, _second);
    return YES;
}

@end

/* To a type of floats. */
@interface SMTLCast : SMTLGraphOperation
- (void)setType:(MPSDataType)type;
@end

@implementation SMTLCast

- (void)setType:(MPSDataType)type {
    _type = type;
}

- (void)checkTypes:(const char *)where {
    SMTL_REQUIRE(smtl_is_float(_type), where, @"the type to cast to is %@: it must be Float32, Float16 or BFloat16",
                 SMTLNameOfType(_type));
}

@end

void SMTLNameShapes(void) {}

@implementation MPSGraph (MPSGraphTensorShapeOps)

- (MPSGraphTensor *)reshapeTensor:(MPSGraphTensor *)tensor withShape:(MPSShape *)shape name:(NSString *)name {
    const char *where = "-[MPSGraph reshapeTensor:withShape:name:]";
    SMTL_REQUIRE(tensor != nil && shape != nil, where, @"the tensor and the shape must not be nil");
    SMTLReshape *reshape = [[SMTLReshape alloc] initWithInputs:[NSArray arrayWithObject:tensor] name:name];
    reshape->_wanted = [shape copy];
    return [self add:reshape where:where];
}

- (MPSGraphTensor *)transposeTensor:(MPSGraphTensor *)tensor
                          dimension:(NSUInteger)dimensionIndex
                      withDimension:(NSUInteger)dimensionIndex2
                               name:(NSString *)name {
    const char *where = "-[MPSGraph transposeTensor:dimension:withDimension:name:]";
    SMTL_REQUIRE(tensor != nil, where, @"the tensor must not be nil");
    SMTLTranspose *transpose = [[SMTLTranspose alloc] initWithInputs:[NSArray arrayWithObject:tensor] name:name];
    transpose->_first = dimensionIndex;
    transpose->_second = dimensionIndex2;
    return [self add:transpose where:where];
}

- (MPSGraphTensor *)castTensor:(MPSGraphTensor *)tensor toType:(MPSDataType)type name:(NSString *)name {
    const char *where = "-[MPSGraph castTensor:toType:name:]";
    SMTL_REQUIRE(tensor != nil, where, @"the tensor must not be nil");
    SMTLCast *cast = [[SMTLCast alloc] initWithInputs:[NSArray arrayWithObject:tensor] name:name];
    [cast setType:type];
    return [self add:cast where:where];
}

@end
