#import "SMTLArray.h"

#include <string.h>

#define UNSIGNED(value) (unsigned long)(value)

@interface MPSNDArrayDescriptor (SMTLViews)
- (void)setTensor:(const smtl_tensor *)tensor;
- (BOOL)applyTo:(SMTLRegion *)region;
@end

/* Rows begin at multiples of so many bytes, unless they are to be packed. */
static const size_t row_alignment = 16;

static smtl_tensor tensor_of(const char *where, MPSNDArrayDescriptor *descriptor) {
    SMTL_REQUIRE(descriptor != nil, where, @"descriptor must not be nil");
    NSMutableArray *shape = [NSMutableArray array];
    for (NSUInteger i = [descriptor numberOfDimensions]; i-- > 0;)
        [shape addObject:[NSNumber numberWithUnsignedLong:[descriptor lengthOfDimension:i]]];
    smtl_tensor tensor = SMTLTensorOfShape(where, shape, [descriptor dataType]);
    if ([descriptor preferPackedRows] || tensor.rank < 2) return tensor;
    const size_t row = tensor.strides[tensor.rank - 2];
    size_t stride = (row + row_alignment - 1) / row_alignment * row_alignment;
    for (uint32_t i = tensor.rank - 1; i-- > 0;) {
        tensor.strides[i] = stride;
        stride *= tensor.lengths[i];
    }
    return tensor;
}

/* Bytes between strided memory of two layouts, `rank` dimensions of them. */
static void copy(uint8_t *to, const int64_t *to_strides, const uint8_t *from, const int64_t *from_strides,
                 const size_t *lengths, uint32_t rank, size_t size) {
    if (rank == 0) {
        memcpy(to, from, size);
        return;
    }
    for (size_t i = 0; i < lengths[0]; i++) {
        copy(to + (int64_t)i * to_strides[0], to_strides + 1, from + (int64_t)i * from_strides[0], from_strides + 1,
             lengths + 1, rank - 1, size);
    }
}

@implementation MPSNDArray

@synthesize label = _label;
@synthesize device = _device;
@synthesize dataType = _dataType;
@synthesize numberOfDimensions = _numberOfDimensions;

- (instancetype)initWithRegion:(const SMTLRegion *)region parent:(MPSNDArray *)parent ofUser:(BOOL)ofUser {
    self = [super init];
    _buffer = [region->buffer retain];
    _device = [[_buffer device] retain];
    _parent = [parent retain];
    _ofUser = ofUser;
    _offset = region->offset;
    const smtl_tensor *tensor = &region->tensor;
    _dataType = tensor->type;
    _numberOfDimensions = tensor->rank;
    for (NSUInteger i = 0; i < tensor->rank; i++) {
        _lengths[i] = tensor->lengths[tensor->rank - 1 - i];
        _strides[i] = tensor->strides[tensor->rank - 1 - i];
    }
    return self;
}

- (SMTLRegion)region {
    SMTLRegion region = {_buffer, _offset, {.type = _dataType, .rank = (uint32_t)_numberOfDimensions}};
    for (NSUInteger i = 0; i < _numberOfDimensions; i++) {
        region.tensor.lengths[_numberOfDimensions - 1 - i] = _lengths[i];
        region.tensor.strides[_numberOfDimensions - 1 - i] = _strides[i];
    }
    return region;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSNDArrayDescriptor *)descriptor {
    const char *where = "-[MPSNDArray initWithDevice:descriptor:]";
    [self autorelease]; /* until nothing can raise */
    SMTL_REQUIRE(device != nil, where, @"device must not be nil");
    SMTLRegion region = {.tensor = tensor_of(where, descriptor)};
    region.buffer = [[device newBufferWithLength:SMTLTensorExtent(&region.tensor)
                                         options:MTLResourceStorageModeShared] autorelease];
    return region.buffer == nil ? nil : [[self initWithRegion:&region parent:nil ofUser:NO] retain];
}

- (instancetype)initWithDevice:(id<MTLDevice>)device scalar:(double)value {
    NSUInteger one = 1;
    self = [self initWithDevice:device descriptor:[MPSNDArrayDescriptor descriptorWithDataType:MPSDataTypeFloat32
                                                                                dimensionCount:1
                                                                                dimensionSizes:&one]];
    float number = (float)value;
    [self writeBytes:&number strideBytes:NULL];
    return self;
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSNDArrayDescriptor *)descriptor {
    const char *where = "-[MPSNDArray initWithBuffer:offset:descriptor:]";
    [self autorelease]; /* until nothing can raise */
    SMTL_REQUIRE(buffer != nil, where, @"buffer must not be nil");
    const SMTLRegion region = {buffer, offset, tensor_of(where, descriptor)};
    const NSUInteger bytes = SMTLTensorExtent(&region.tensor), size = smtl_type_size(region.tensor.type);
    SMTL_REQUIRE(offset % size == 0, where, @"offset %lu is not a multiple of the element's %lu bytes",
                 UNSIGNED(offset), UNSIGNED(size));
    SMTL_REQUIRE(offset <= [buffer length] && bytes <= [buffer length] - offset, where,
                 @"%lu bytes at offset %lu exceed the buffer's length %lu", UNSIGNED(bytes), UNSIGNED(offset),
                 UNSIGNED([buffer length]));
    return [[self initWithRegion:&region parent:nil ofUser:YES] retain];
}

- (void)dealloc {
    [_label release];
    [_parent release];
    [_buffer release];
    [_device release];
    [super dealloc];
}

- (size_t)dataTypeSize {
    return smtl_type_size(_dataType);
}

- (MPSNDArray *)parent {
    return _parent;
}

- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex {
    return dimensionIndex < _numberOfDimensions ? _lengths[dimensionIndex] : 1;
}

- (MPSNDArrayDescriptor *)descriptor {
    const SMTLRegion region = [self region];
    MPSNDArrayDescriptor *descriptor = [[[MPSNDArrayDescriptor alloc] init] autorelease];
    [descriptor setTensor:&region.tensor];
    [descriptor setPreferPackedRows:SMTLIsPacked(&region.tensor)];
    return descriptor;
}

- (id<MTLBuffer>)userBuffer {
    return _ofUser ? _buffer : nil;
}

- (NSUInteger)resourceSize {
    return [_buffer allocatedSize];
}

- (MPSNDArray *)arrayViewWithDescriptor:(MPSNDArrayDescriptor *)descriptor {
    SMTL_REQUIRE(descriptor != nil, "-[MPSNDArray arrayViewWithDescriptor:]", @"descriptor must not be nil");
    SMTLRegion region = [self region];
    if ([descriptor dataType] != _dataType || ![descriptor applyTo:&region]) return nil;
    return [[[MPSNDArray alloc] initWithRegion:&region parent:self ofUser:_ofUser] autorelease];
}

- (MPSNDArray *)arrayViewWithShape:(MPSShape *)shape strides:(MPSShape *)strides {
    const char *where = "-[MPSNDArray arrayViewWithShape:strides:]";
    const SMTLRegion own = [self region];
    SMTLRegion view = own;
    if (shape != nil) view.tensor = SMTLTensorOfShape(where, shape, _dataType);
    SMTL_REQUIRE([strides count] >= view.tensor.rank, where, @"%lu strides are fewer than %u dimensions",
                 UNSIGNED([strides count]), view.tensor.rank);
    for (uint32_t i = 0; i < view.tensor.rank; i++) {
        const int64_t stride = [[strides objectAtIndex:i] longLongValue];
        SMTL_REQUIRE(stride >= 0 && stride < 1ll << 31, where, @"stride %lld of dimension %u is not between 0 and 2^31",
                     (long long)stride, i);
        view.tensor.strides[i] = (size_t)stride * smtl_type_size(_dataType);
    }
    if (!SMTLIsPacked(&own.tensor) || SMTLTensorExtent(&view.tensor) > SMTLTensorExtent(&own.tensor)) return nil;
    return [[[MPSNDArray alloc] initWithRegion:&view parent:self ofUser:_ofUser] autorelease];
}

/* The CPU's memory of the array, and the strides of both sides. */
- (uint8_t *)bytesFor:(const char *)where
              strides:(int64_t *)own_strides
                given:(NSInteger *)strides
                   to:(int64_t *)given {
    SMTL_REQUIRE([_buffer contents] != NULL, where, @"the array's memory is private: the CPU does not see it");
    SMTLRegion region = [self region];
    smtl_tensor packed = region.tensor;
    SMTLPackTensor(&packed);
    for (uint32_t i = 0; i < packed.rank; i++) {
        own_strides[i] = (int64_t)region.tensor.strides[i];
        given[i] = strides == NULL ? (int64_t)packed.strides[i] : (int64_t)strides[packed.rank - 1 - i];
    }
    return (uint8_t *)[_buffer contents] + _offset;
}

- (void)readBytes:(void *)buffer strideBytes:(NSInteger *)strideBytesPerDimension {
    const char *where = "-[MPSNDArray readBytes:strideBytes:]";
    SMTL_REQUIRE(buffer != NULL, where, @"buffer must not be NULL");
    int64_t own[SMTL_MAX_RANK], given[SMTL_MAX_RANK];
    const uint8_t *bytes = [self bytesFor:where strides:own given:strideBytesPerDimension to:given];
    const SMTLRegion region = [self region];
    copy(buffer, given, bytes, own, region.tensor.lengths, region.tensor.rank, smtl_type_size(_dataType));
}

- (void)writeBytes:(void *)buffer strideBytes:(NSInteger *)strideBytesPerDimension {
    const char *where = "-[MPSNDArray writeBytes:strideBytes:]";
    SMTL_REQUIRE(buffer != NULL, where, @"buffer must not be NULL");
    int64_t own[SMTL_MAX_RANK], given[SMTL_MAX_RANK];
    uint8_t *bytes = [self bytesFor:where strides:own given:strideBytesPerDimension to:given];
    const SMTLRegion region = [self region];
    copy(bytes, own, buffer, given, region.tensor.lengths, region.tensor.rank, smtl_type_size(_dataType));
    if ([_buffer storageMode] == MTLStorageModeManaged)
        [_buffer didModifyRange:NSMakeRange(_offset, SMTLTensorExtent(&region.tensor))];
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
    SMTLSynchronize("-[MPSNDArray synchronizeOnCommandBuffer:]", _buffer, commandBuffer, _device);
}

@end
