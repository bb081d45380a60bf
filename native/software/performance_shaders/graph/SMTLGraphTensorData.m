#import "SMTLGraph.h"

#define UNSIGNED(value) (unsigned long)(value)

@implementation MPSGraphTensorData

- (SMTLRegion)region {
    return [_array region];
}

- (instancetype)initWithRegion:(const SMTLRegion *)region {
    MPSNDArray *array = [[[MPSNDArray alloc] initWithRegion:region parent:nil ofUser:YES] autorelease];
    return [self initWithMPSNDArray:array];
}

- (instancetype)initWithMPSNDArray:(MPSNDArray *)ndarray {
    self = [super init];
    if (ndarray == nil) {
        [self release];
        SMTLRaise("-[MPSGraphTensorData initWithMPSNDArray:]", @"ndarray must not be nil");
    }
    _array = [ndarray retain];
    return self;
}

- (instancetype)initWithDevice:(MPSGraphDevice *)device
                          data:(NSData *)data
                         shape:(MPSShape *)shape
                      dataType:(MPSDataType)dataType {
    const char *where = "-[MPSGraphTensorData initWithDevice:data:shape:dataType:]";
    [self autorelease]; /* until nothing can raise */
    SMTL_REQUIRE(device != nil && data != nil, where, @"device and data must not be nil");
    SMTLRegion region = {.tensor = SMTLTensorOfShape(where, shape, dataType)};
    const NSUInteger bytes = SMTLTensorExtent(&region.tensor);
    SMTL_REQUIRE([data length] == bytes, where, @"data has %lu bytes: the shape needs %lu", UNSIGNED([data length]),
                 UNSIGNED(bytes));
    region.buffer = [[[device metalDevice] newBufferWithBytes:[data bytes] length:bytes
                                                      options:MTLResourceStorageModeShared] autorelease];
    return region.buffer == nil ? nil : [[self initWithRegion:&region] retain];
}

- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer shape:(MPSShape *)shape dataType:(MPSDataType)dataType {
    return [self initWithMTLBuffer:buffer shape:shape dataType:dataType rowBytes:0];
}

/* 0 for rows without gaps. */
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer
                            shape:(MPSShape *)shape
                         dataType:(MPSDataType)dataType
                         rowBytes:(NSUInteger)rowBytes {
    const char *where = "-[MPSGraphTensorData initWithMTLBuffer:shape:dataType:rowBytes:]";
    [self autorelease]; /* until nothing can raise */
    SMTL_REQUIRE(buffer != nil, where, @"buffer must not be nil");
    SMTLRegion region = {buffer, 0, SMTLTensorOfShape(where, shape, dataType)};
    smtl_tensor *tensor = &region.tensor;
    if (rowBytes != 0 && tensor->rank > 0) {
        const size_t size = smtl_type_size(dataType), columns = tensor->lengths[tensor->rank - 1];
        SMTL_REQUIRE(
            rowBytes % size == 0 && rowBytes / size >= columns && rowBytes < 1ull << 31, where,
            @"rowBytes %lu is not a multiple of the element's %lu bytes, or less than %lu of them, or too large",
            UNSIGNED(rowBytes), UNSIGNED(size), UNSIGNED(columns));
        size_t stride = rowBytes;
        for (uint32_t i = tensor->rank - 1; i-- > 0;) {
            tensor->strides[i] = stride;
            stride *= tensor->lengths[i];
        }
    }
    SMTL_REQUIRE(SMTLTensorExtent(tensor) <= [buffer length], where, @"the buffer has %lu bytes: the shape needs %lu",
                 UNSIGNED([buffer length]), UNSIGNED(SMTLTensorExtent(tensor)));
    return [[self initWithRegion:&region] retain];
}

- (instancetype)initWithMPSMatrix:(MPSMatrix *)matrix {
    [self autorelease]; /* until nothing can raise */
    SMTL_REQUIRE(matrix != nil, "-[MPSGraphTensorData initWithMPSMatrix:]", @"matrix must not be nil");
    const size_t size = smtl_type_size([matrix dataType]);
    SMTLRegion region = {[matrix data], [matrix offset], { .type = [matrix dataType], .rank = 2 }};
    const size_t lengths[] = {[matrix matrices], [matrix rows], [matrix columns]};
    const size_t strides[] = {[matrix matrixBytes], [matrix rowBytes], size};
    const uint32_t first = [matrix matrices] == 1;
    region.tensor.rank = 3 - first;
    memcpy(region.tensor.lengths, lengths + first, region.tensor.rank * sizeof(size_t));
    memcpy(region.tensor.strides, strides + first, region.tensor.rank * sizeof(size_t));
    return [[self initWithRegion:&region] retain];
}

- (instancetype)initWithMPSVector:(MPSVector *)vector {
    [self autorelease]; /* until nothing can raise */
    SMTL_REQUIRE(vector != nil, "-[MPSGraphTensorData initWithMPSVector:]", @"vector must not be nil");
    const size_t size = smtl_type_size([vector dataType]);
    SMTLRegion region = {[vector data], [vector offset], { .type = [vector dataType], .rank = 1 }};
    const size_t lengths[] = {[vector vectors], [vector length]}, strides[] = {[vector vectorBytes], size};
    const uint32_t first = [vector vectors] == 1;
    region.tensor.rank = 2 - first;
    memcpy(region.tensor.lengths, lengths + first, region.tensor.rank * sizeof(size_t));
    memcpy(region.tensor.strides, strides + first, region.tensor.rank * sizeof(size_t));
    return [[self initWithRegion:&region] retain];
}

- (void)dealloc {
    [_array release];
    [super dealloc];
}

- (MPSShape *)shape {
    const SMTLRegion region = [_array region];
    return SMTLShapeOfTensor(&region.tensor);
}

- (MPSDataType)dataType {
    return [_array dataType];
}

- (MPSGraphDevice *)device {
    return [MPSGraphDevice deviceWithMTLDevice:[_array device]];
}

- (MPSNDArray *)mpsndarray {
    return _array;
}

@end
