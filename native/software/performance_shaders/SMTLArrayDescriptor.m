#import "SMTLArray.h"

#define UNSIGNED(value) (unsigned long)(value)

MPSShape *SMTLShapeOfTensor(const smtl_tensor *tensor) {
    NSMutableArray *shape = [NSMutableArray arrayWithCapacity:tensor->rank];
    for (uint32_t i = 0; i < tensor->rank; i++) [shape addObject:[NSNumber numberWithUnsignedLong:tensor->lengths[i]]];
    return shape;
}

smtl_tensor SMTLTensorOfShape(const char *where, MPSShape *shape, MPSDataType type) {
    SMTL_REQUIRE(shape != nil, where, @"the shape must not be nil");
    SMTL_REQUIRE([shape count] <= SMTL_MAX_RANK, where, @"%lu dimensions are more than %u", UNSIGNED([shape count]),
                 SMTL_MAX_RANK);
    SMTL_REQUIRE(smtl_type_size(type) > 0 && smtl_type_size(type) <= 8, where, @"%@ is not a type of whole bytes",
                 SMTLNameOfType(type));
    smtl_tensor tensor = {.type = type, .rank = (uint32_t)[shape count]};
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor.rank; i++) {
        const int64_t length = [[shape objectAtIndex:i] longLongValue];
        SMTL_REQUIRE(length > 0 && length < 1ll << 31, where, @"length %lld of dimension %u is not between 1 and 2^31",
                     (long long)length, i);
        tensor.lengths[i] = (size_t)length;
        count *= (uint64_t)length;
        SMTL_REQUIRE(count < 1ull << 31, where, @"the shape has 2^31 elements or more");
    }
    SMTLPackTensor(&tensor);
    return tensor;
}

void SMTLPackTensor(smtl_tensor *tensor) {
    size_t stride = smtl_type_size(tensor->type);
    for (uint32_t i = tensor->rank; i-- > 0;) {
        tensor->strides[i] = stride;
        stride *= tensor->lengths[i];
    }
}

BOOL SMTLIsPacked(const smtl_tensor *tensor) {
    size_t stride = smtl_type_size(tensor->type);
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (tensor->lengths[i] != 1 && tensor->strides[i] != stride) return NO;
        stride *= tensor->lengths[i];
    }
    return YES;
}

@implementation MPSNDArrayDescriptor

@synthesize dataType = _dataType;
@synthesize numberOfDimensions = _numberOfDimensions;
@synthesize preferPackedRows = _preferPackedRows;

- (void)reset {
    for (NSUInteger i = 0; i < SMTL_MAX_RANK; i++) {
        _lengths[i] = 1;
        _slices[i] = (MPSDimensionSlice){0, 1};
        _order[i] = i;
    }
}

- (void)setTensor:(const smtl_tensor *)tensor {
    [self reset];
    _dataType = tensor->type;
    _numberOfDimensions = tensor->rank;
    for (NSUInteger i = 0; i < tensor->rank; i++) {
        _lengths[i] = tensor->lengths[tensor->rank - 1 - i];
        _slices[i] = (MPSDimensionSlice){0, _lengths[i]};
    }
}

+ (instancetype)descriptorWithDataType:(MPSDataType)dataType
                        dimensionCount:(NSUInteger)numberOfDimensions
                        dimensionSizes:(NSUInteger *)dimensionSizes {
    const char *where = "+[MPSNDArrayDescriptor descriptorWithDataType:dimensionCount:dimensionSizes:]";
    SMTL_REQUIRE(numberOfDimensions <= SMTL_MAX_RANK, where, @"%lu dimensions are more than %u",
                 UNSIGNED(numberOfDimensions), SMTL_MAX_RANK);
    SMTL_REQUIRE(numberOfDimensions == 0 || dimensionSizes != NULL, where, @"dimensionSizes must not be NULL");
    NSMutableArray *shape = [NSMutableArray array];
    for (NSUInteger i = numberOfDimensions; i-- > 0;)
        [shape addObject:[NSNumber numberWithUnsignedLong:dimensionSizes[i]]];
    return [self descriptorWithDataType:dataType shape:shape];
}

+ (instancetype)descriptorWithDataType:(MPSDataType)dataType shape:(NSArray *)shape {
    const smtl_tensor tensor =
        SMTLTensorOfShape("+[MPSNDArrayDescriptor descriptorWithDataType:shape:]", shape, dataType);
    MPSNDArrayDescriptor *descriptor = [[[self alloc] init] autorelease];
    [descriptor setTensor:&tensor];
    return descriptor;
}

- (void)reshapeWithShape:(NSArray *)shape {
    const smtl_tensor tensor = SMTLTensorOfShape("-[MPSNDArrayDescriptor reshapeWithShape:]", shape, _dataType);
    [self setTensor:&tensor];
}

- (id)copyWithZone:(NSZone *)zone {
    return NSCopyObject(self, 0, zone);
}

- (void)setNumberOfDimensions:(NSUInteger)numberOfDimensions {
    SMTL_REQUIRE(numberOfDimensions <= SMTL_MAX_RANK, "-[MPSNDArrayDescriptor setNumberOfDimensions:]",
                 @"%lu dimensions are more than %u", UNSIGNED(numberOfDimensions), SMTL_MAX_RANK);
    for (NSUInteger i = numberOfDimensions; i < _numberOfDimensions; i++) {
        _lengths[i] = 1;
        _slices[i] = (MPSDimensionSlice){0, 1};
        _order[i] = i;
    }
    _numberOfDimensions = numberOfDimensions;
}

- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex {
    return dimensionIndex < _numberOfDimensions ? _lengths[dimensionIndex] : 1;
}

- (MPSDimensionSlice)sliceRangeForDimension:(NSUInteger)dimensionIndex {
    return dimensionIndex < _numberOfDimensions ? _slices[dimensionIndex] : (MPSDimensionSlice){0, 1};
}

- (void)requireDimension:(NSUInteger)index where:(const char *)where {
    SMTL_REQUIRE(index < _numberOfDimensions, where, @"dimension %lu is not below numberOfDimensions %lu",
                 UNSIGNED(index), UNSIGNED(_numberOfDimensions));
}

- (void)sliceDimension:(NSUInteger)dimensionIndex withSubrange:(MPSDimensionSlice)subRange {
    const char *where = "-[MPSNDArrayDescriptor sliceDimension:withSubrange:]";
    [self requireDimension:dimensionIndex where:where];
    const NSUInteger length = _lengths[dimensionIndex];
    SMTL_REQUIRE(subRange.length > 0 && subRange.start <= length && subRange.length <= length - subRange.start, where,
                 @"%lu elements from element %lu exceed the length %lu of dimension %lu", UNSIGNED(subRange.length),
                 UNSIGNED(subRange.start), UNSIGNED(length), UNSIGNED(dimensionIndex));
    _slices[dimensionIndex] = subRange;
}

- (void)transposeDimension:(NSUInteger)dimensionIndex withDimension:(NSUInteger)dimensionIndex2 {
    const char *where = "-[MPSNDArrayDescriptor transposeDimension:withDimension:]";
    [self requireDimension:dimensionIndex where:where];
    [self requireDimension:dimensionIndex2 where:where];
#define EXCHANGE(type, array)                           \
    do {                                                \
        const type kept = array[dimensionIndex];        \
        array[dimensionIndex] = array[dimensionIndex2]; \
        array[dimensionIndex2] = kept;                  \
    } while (0)
    EXCHANGE(NSUInteger, _lengths);
    EXCHANGE(MPSDimensionSlice, _slices);
    EXCHANGE(NSUInteger, _order);
#undef EXCHANGE
}

- (NSArray *)getShape {
    NSMutableArray *shape = [NSMutableArray array];
    for (NSUInteger i = _numberOfDimensions; i-- > 0;)
        [shape addObject:[NSNumber numberWithUnsignedLong:_slices[i].length]];
    return shape;
}

/* The descriptor's view of the region; NO if its lengths before slices are not the region's. */
- (BOOL)applyTo:(SMTLRegion *)region {
    const smtl_tensor from = region->tensor;
    const NSUInteger rank = _numberOfDimensions;
    smtl_tensor *to = &region->tensor;
    to->rank = (uint32_t)rank;
    for (NSUInteger i = 0; i < rank; i++) {
        const NSUInteger source = _order[i];
        const BOOL exists = source < from.rank;
        const size_t length = exists ? from.lengths[from.rank - 1 - source] : 1;
        const size_t stride = exists ? from.strides[from.rank - 1 - source] : 0;
        if (length != _lengths[i]) return NO;
        to->lengths[rank - 1 - i] = _slices[i].length;
        to->strides[rank - 1 - i] = stride;
        region->offset += _slices[i].start * stride;
    }
    return rank >= from.rank;
}

@end
