#import "SMTLArray.h"

#import "SMTLBroadcast.h"
#import "SMTLProduct.h"

@implementation MPSNDArrayMultiaryBase

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    (void)device;
    [self release];
    SMTLRaise("-[MPSNDArrayMultiaryBase initWithDevice:]", @"use initWithDevice:sourceCount:");
}

- (instancetype)initWithDevice:(id<MTLDevice>)device sourceCount:(NSUInteger)count {
    self = [super initWithDevice:device];
    _sourceCount = count;
    return self;
}

@end

@implementation MPSNDArrayMultiaryKernel

- (MPSNDArray *)encodeToCommandBuffer:(id<MTLCommandBuffer>)cmdBuf sourceArrays:(NSArray *)sourceArrays {
    (void)cmdBuf;
    (void)sourceArrays;
    SMTLRaise("-[MPSNDArrayMultiaryKernel encodeToCommandBuffer:sourceArrays:]", @"a subclass says what to compute");
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)cmdBuf
                 sourceArrays:(NSArray *)sourceArrays
             destinationArray:(MPSNDArray *)destination {
    (void)cmdBuf;
    (void)sourceArrays;
    (void)destination;
    SMTLRaise("-[MPSNDArrayMultiaryKernel encodeToCommandBuffer:sourceArrays:destinationArray:]",
              @"a subclass says what to compute");
}

@end

/* At least two dimensions. */
static void extend(smtl_tensor *tensor) {
    const size_t ones[2] = {1, 1};
    if (tensor->rank < 2) SMTLBroadcastTensor("", @"", tensor, ones, 2 - tensor->rank, tensor->rank);
}

@implementation MPSNDArrayMatrixMultiplication

@synthesize alpha = _alpha;
@synthesize beta = _beta;

- (instancetype)initWithDevice:(id<MTLDevice>)device sourceCount:(NSUInteger)count {
    self = [super initWithDevice:device sourceCount:count];
    if (count != 2 && count != 3) {
        [self release];
        SMTLRaise("-[MPSNDArrayMatrixMultiplication initWithDevice:sourceCount:]",
                  @"sourceCount %lu is neither 2 nor 3", (unsigned long)count);
    }
    _alpha = 1;
    _beta = 1;
    return self;
}

/* The sources, and the shape of the product, which is that of the result. */
- (smtl_tensor)productOf:(NSArray *)sources regions:(SMTLRegion *)regions where:(const char *)where {
    SMTL_REQUIRE([sources count] == _sourceCount, where,
                 @"there are %lu source arrays: there must be %lu, the kernel's sourceCount",
                 (unsigned long)[sources count], (unsigned long)_sourceCount);
    for (NSUInteger i = 0; i < _sourceCount; i++) {
        regions[i] = [(MPSNDArray *)[sources objectAtIndex:i] region];
        const MPSDataType type = regions[i].tensor.type;
        SMTL_REQUIRE(smtl_is_float(type), where,
                     @"the type of source %lu is %@: it must be Float32, Float16 or BFloat16", (unsigned long)i,
                     SMTLNameOfType(type));
        extend(&regions[i].tensor);
    }
    const smtl_tensor *left = &regions[0].tensor, *right = &regions[1].tensor;
    const size_t interior = left->lengths[left->rank - 1];
    SMTL_REQUIRE(interior == right->lengths[right->rank - 2], where,
                 @"the shapes %@ and %@ cannot be multiplied: %lu columns and %lu rows",
                 SMTLDescribeLengths(left->lengths, left->rank), SMTLDescribeLengths(right->lengths, right->rank),
                 (unsigned long)interior, (unsigned long)right->lengths[right->rank - 2]);
    const smtl_tensor *both[] = {left, right};
    smtl_tensor product = SMTLCommonShape(where, both, 2, 2);
    product.type = left->type;
    product.lengths[product.rank] = left->lengths[left->rank - 2];
    product.lengths[product.rank + 1] = right->lengths[right->rank - 1];
    product.rank += 2;
    return product;
}

- (MPSNDArray *)encodeToCommandBuffer:(id<MTLCommandBuffer>)cmdBuf sourceArrays:(NSArray *)sourceArrays {
    const char *where = "-[MPSNDArrayMatrixMultiplication encodeToCommandBuffer:sourceArrays:]";
    SMTLRegion regions[3];
    const smtl_tensor product = [self productOf:sourceArrays regions:regions where:where];
    MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:product.type
                                                                              shape:SMTLShapeOfTensor(&product)];
    MPSNDArray *destination = [[[MPSNDArray alloc] initWithDevice:_device descriptor:descriptor] autorelease];
    SMTL_REQUIRE(destination != nil, where, @"no memory for the result");
    [self encodeToCommandBuffer:cmdBuf sourceArrays:sourceArrays destinationArray:destination];
    return destination;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)cmdBuf
                 sourceArrays:(NSArray *)sourceArrays
             destinationArray:(MPSNDArray *)destination {
    const char *where = "-[MPSNDArrayMatrixMultiplication encodeToCommandBuffer:sourceArrays:destinationArray:]";
    SMTL_REQUIRE(destination != nil, where, @"destination must not be nil");
    SMTLRegion regions[3];
    const smtl_tensor product = [self productOf:sourceArrays regions:regions where:where];
    SMTLRegion result = [destination region];
    extend(&result.tensor);
    SMTL_REQUIRE(smtl_is_float(result.tensor.type), where,
                 @"the destination's type is %@: it must be Float32, Float16 or BFloat16",
                 SMTLNameOfType(result.tensor.type));
    const uint32_t batch = product.rank - 2;
    SMTLBroadcastTensor(where, @"destination", &result.tensor, product.lengths, batch, 2);
    const size_t *sides = result.tensor.lengths + batch;
    SMTL_REQUIRE(memcmp(sides, product.lengths + batch, 2 * sizeof(size_t)) == 0 &&
                     smtl_tensor_count(&product) == [self countOf:destination],
                 where, @"the destination's shape is not the product's, %@",
                 SMTLDescribeLengths(product.lengths, product.rank));
    SMTLBroadcastTensor(where, @"left source", &regions[0].tensor, product.lengths, batch, 2);
    SMTLBroadcastTensor(where, @"right source", &regions[1].tensor, product.lengths, batch, 2);
    if (_sourceCount == 3) SMTLBroadcastTensor(where, @"addend", &regions[2].tensor, product.lengths, product.rank, 0);
    SMTLEncodeProduct(where, cmdBuf, _device, &regions[0], &regions[1], _sourceCount == 3 ? &regions[2] : NULL, &result,
                      _alpha, _sourceCount == 3 ? _beta : 0);
}

- (size_t)countOf:(MPSNDArray *)array {
    const SMTLRegion region = [array region];
    return smtl_tensor_count(&region.tensor);
}

@end
