#import "SMTLMatrix.h"

#define UNSIGNED(value) (unsigned long)(value)

/* What a device reads fastest. */
static const NSUInteger preferred_alignment = 16;

static size_t preferred_bytes(NSUInteger count, MPSDataType type) {
    return (count * smtl_type_size(type) + preferred_alignment - 1) / preferred_alignment * preferred_alignment;
}

/* `count` items of `size` bytes at distances of `stride`; raises if that is more than can be counted. */
static NSUInteger extent(const char *where, NSUInteger count, NSUInteger stride, NSUInteger size) {
    NSUInteger bytes;
    SMTL_REQUIRE(!__builtin_mul_overflow(count - 1, stride, &bytes) && !__builtin_add_overflow(bytes, size, &bytes),
                 where, @"%lu items at distances of %lu bytes are more than there is memory for", UNSIGNED(count),
                 UNSIGNED(stride));
    return bytes;
}

static NSUInteger require_type(const char *where, MPSDataType type) {
    SMTL_REQUIRE(smtl_type_size(type) > 0 && smtl_type_size(type) <= 8, where, @"%@ is not a type of whole bytes",
                 SMTLNameOfType(type));
    return smtl_type_size(type);
}

static void require_storage(const char *where, id<MTLBuffer> buffer, NSUInteger offset, NSUInteger bytes,
                            NSUInteger size) {
    SMTL_REQUIRE(buffer != nil, where, @"buffer must not be nil");
    SMTL_REQUIRE(offset % size == 0, where, @"offset %lu is not a multiple of the element's %lu bytes",
                 UNSIGNED(offset), UNSIGNED(size));
    SMTL_REQUIRE(offset <= [buffer length] && bytes <= [buffer length] - offset, where,
                 @"%lu bytes at offset %lu exceed the buffer's length %lu", UNSIGNED(bytes), UNSIGNED(offset),
                 UNSIGNED([buffer length]));
}

@implementation MPSMatrixDescriptor

@synthesize rows = _rows;
@synthesize columns = _columns;
@synthesize matrices = _matrices;
@synthesize dataType = _dataType;
@synthesize rowBytes = _rowBytes;
@synthesize matrixBytes = _matrixBytes;

+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                rowBytes:(NSUInteger)rowBytes
                                dataType:(MPSDataType)dataType {
    return [self matrixDescriptorWithRows:rows columns:columns matrices:1 rowBytes:rowBytes matrixBytes:rows * rowBytes
                                 dataType:dataType];
}

+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                matrices:(NSUInteger)matrices
                                rowBytes:(NSUInteger)rowBytes
                             matrixBytes:(NSUInteger)matrixBytes
                                dataType:(MPSDataType)dataType {
    MPSMatrixDescriptor *descriptor = [[[self alloc] init] autorelease];
    descriptor->_rows = rows;
    descriptor->_columns = columns;
    descriptor->_matrices = matrices;
    descriptor->_rowBytes = rowBytes;
    descriptor->_matrixBytes = matrixBytes;
    descriptor->_dataType = dataType;
    return descriptor;
}

+ (size_t)rowBytesForColumns:(NSUInteger)columns dataType:(MPSDataType)dataType {
    return preferred_bytes(columns, dataType);
}

@end

@implementation MPSVectorDescriptor

@synthesize length = _length;
@synthesize vectors = _vectors;
@synthesize dataType = _dataType;
@synthesize vectorBytes = _vectorBytes;

+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length dataType:(MPSDataType)dataType {
    return [self vectorDescriptorWithLength:length vectors:1 vectorBytes:length * smtl_type_size(dataType)
                                   dataType:dataType];
}

+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length
                                   vectors:(NSUInteger)vectors
                               vectorBytes:(NSUInteger)vectorBytes
                                  dataType:(MPSDataType)dataType {
    MPSVectorDescriptor *descriptor = [[[self alloc] init] autorelease];
    descriptor->_length = length;
    descriptor->_vectors = vectors;
    descriptor->_vectorBytes = vectorBytes;
    descriptor->_dataType = dataType;
    return descriptor;
}

+ (size_t)vectorBytesForLength:(NSUInteger)length dataType:(MPSDataType)dataType {
    return preferred_bytes(length, dataType);
}

@end

@implementation MPSMatrix

@synthesize device = _device;
@synthesize rows = _rows;
@synthesize columns = _columns;
@synthesize matrices = _matrices;
@synthesize dataType = _dataType;
@synthesize rowBytes = _rowBytes;
@synthesize matrixBytes = _matrixBytes;
@synthesize offset = _offset;

static NSUInteger matrix_bytes(const char *where, MPSMatrixDescriptor *descriptor) {
    SMTL_REQUIRE(descriptor != nil, where, @"descriptor must not be nil");
    const NSUInteger size = require_type(where, [descriptor dataType]);
    const NSUInteger rows = [descriptor rows], columns = [descriptor columns], matrices = [descriptor matrices];
    const NSUInteger row_bytes = [descriptor rowBytes], matrix_bytes = [descriptor matrixBytes];
    SMTL_REQUIRE(rows > 0 && columns > 0 && matrices > 0, where,
                 @"rows %lu, columns %lu and matrices %lu must not be 0", UNSIGNED(rows), UNSIGNED(columns),
                 UNSIGNED(matrices));
    SMTL_REQUIRE(row_bytes % size == 0, where, @"rowBytes %lu is not a multiple of the element's %lu bytes",
                 UNSIGNED(row_bytes), UNSIGNED(size));
    SMTL_REQUIRE(columns <= row_bytes / size, where, @"rowBytes %lu is less than %lu columns of %lu bytes",
                 UNSIGNED(row_bytes), UNSIGNED(columns), UNSIGNED(size));
    const NSUInteger bytes = extent(where, rows, row_bytes, columns * size);
    if (matrices == 1) return bytes;
    SMTL_REQUIRE(matrix_bytes % row_bytes == 0, where, @"matrixBytes %lu is not a multiple of rowBytes %lu",
                 UNSIGNED(matrix_bytes), UNSIGNED(row_bytes));
    SMTL_REQUIRE(rows <= matrix_bytes / row_bytes, where, @"matrixBytes %lu is less than %lu rows of %lu bytes",
                 UNSIGNED(matrix_bytes), UNSIGNED(rows), UNSIGNED(row_bytes));
    return extent(where, matrices, matrix_bytes, bytes);
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset descriptor:(MPSMatrixDescriptor *)descriptor {
    _data = [buffer retain];
    _device = [[buffer device] retain];
    _offset = offset;
    _rows = [descriptor rows];
    _columns = [descriptor columns];
    _matrices = [descriptor matrices];
    _rowBytes = [descriptor rowBytes];
    _matrixBytes = [descriptor matrixBytes];
    _dataType = [descriptor dataType];
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSMatrixDescriptor *)descriptor {
    return [self initWithBuffer:buffer offset:0 descriptor:descriptor];
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSMatrixDescriptor *)descriptor {
    const char *where = "-[MPSMatrix initWithBuffer:offset:descriptor:]";
    self = [super init];
    @try {
        require_storage(where, buffer, offset, matrix_bytes(where, descriptor), smtl_type_size([descriptor dataType]));
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    [self setBuffer:buffer offset:offset descriptor:descriptor];
    return self;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSMatrixDescriptor *)descriptor {
    const char *where = "-[MPSMatrix initWithDevice:descriptor:]";
    NSUInteger length = 0;
    self = [super init];
    @try {
        SMTL_REQUIRE(device != nil, where, @"device must not be nil");
        length = matrix_bytes(where, descriptor);
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    id<MTLBuffer> buffer = [device newBufferWithLength:length options:MTLResourceStorageModeShared];
    if (buffer == nil) {
        [self release];
        return nil;
    }
    [self setBuffer:buffer offset:0 descriptor:descriptor];
    [buffer release];
    return self;
}

- (void)dealloc {
    [_data release];
    [_device release];
    [super dealloc];
}

- (id<MTLBuffer>)data {
    return _data;
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
    SMTLSynchronize("-[MPSMatrix synchronizeOnCommandBuffer:]", _data, commandBuffer, _device);
}

- (NSUInteger)resourceSize {
    return [_data allocatedSize];
}

@end

@implementation MPSVector

@synthesize device = _device;
@synthesize length = _length;
@synthesize vectors = _vectors;
@synthesize dataType = _dataType;
@synthesize vectorBytes = _vectorBytes;
@synthesize offset = _offset;

static NSUInteger vector_bytes(const char *where, MPSVectorDescriptor *descriptor) {
    SMTL_REQUIRE(descriptor != nil, where, @"descriptor must not be nil");
    const NSUInteger size = require_type(where, [descriptor dataType]);
    const NSUInteger length = [descriptor length], vectors = [descriptor vectors], bytes = [descriptor vectorBytes];
    SMTL_REQUIRE(length > 0 && vectors > 0, where, @"length %lu and vectors %lu must not be 0", UNSIGNED(length),
                 UNSIGNED(vectors));
    const NSUInteger one = extent(where, length, size, size);
    if (vectors == 1) return one;
    SMTL_REQUIRE(bytes % size == 0, where, @"vectorBytes %lu is not a multiple of the element's %lu bytes",
                 UNSIGNED(bytes), UNSIGNED(size));
    SMTL_REQUIRE(one <= bytes, where, @"vectorBytes %lu is less than %lu elements of %lu bytes", UNSIGNED(bytes),
                 UNSIGNED(length), UNSIGNED(size));
    return extent(where, vectors, bytes, one);
}

- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset descriptor:(MPSVectorDescriptor *)descriptor {
    _data = [buffer retain];
    _device = [[buffer device] retain];
    _offset = offset;
    _length = [descriptor length];
    _vectors = [descriptor vectors];
    _vectorBytes = [descriptor vectorBytes];
    _dataType = [descriptor dataType];
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSVectorDescriptor *)descriptor {
    return [self initWithBuffer:buffer offset:0 descriptor:descriptor];
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSVectorDescriptor *)descriptor {
    const char *where = "-[MPSVector initWithBuffer:offset:descriptor:]";
    self = [super init];
    @try {
        require_storage(where, buffer, offset, vector_bytes(where, descriptor), smtl_type_size([descriptor dataType]));
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    [self setBuffer:buffer offset:offset descriptor:descriptor];
    return self;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSVectorDescriptor *)descriptor {
    const char *where = "-[MPSVector initWithDevice:descriptor:]";
    NSUInteger length = 0;
    self = [super init];
    @try {
        SMTL_REQUIRE(device != nil, where, @"device must not be nil");
        length = vector_bytes(where, descriptor);
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    id<MTLBuffer> buffer = [device newBufferWithLength:length options:MTLResourceStorageModeShared];
    if (buffer == nil) {
        [self release];
        return nil;
    }
    [self setBuffer:buffer offset:0 descriptor:descriptor];
    [buffer release];
    return self;
}

- (void)dealloc {
    [_data release];
    [_device release];
    [super dealloc];
}

- (id<MTLBuffer>)data {
    return _data;
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer {
    SMTLSynchronize("-[MPSVector synchronizeOnCommandBuffer:]", _data, commandBuffer, _device);
}

- (NSUInteger)resourceSize {
    return [_data allocatedSize];
}

@end
