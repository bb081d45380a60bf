#import "SMTLMatrix.h"

#include "SMTLProduct.h"

#define UNSIGNED(value) (unsigned long)(value)

static NSUInteger least(NSUInteger a, NSUInteger b) { return a < b ? a : b; }

/* Apple's kernels multiply floats of either size, and small integers into floats. */
static void require_types(const char *where, MPSDataType left, MPSDataType right, MPSDataType result) {
    SMTL_REQUIRE(left == MPSDataTypeFloat32 || left == MPSDataTypeFloat16 || left == MPSDataTypeInt8 ||
                     left == MPSDataTypeInt16,
                 where, @"the input's type is %@: it must be Float32, Float16, Int8 or Int16", SMTLNameOfType(left));
    SMTL_REQUIRE(left == right, where, @"the inputs' types differ: %@ and %@", SMTLNameOfType(left),
                 SMTLNameOfType(right));
    SMTL_REQUIRE(result == MPSDataTypeFloat32 || result == MPSDataTypeFloat16, where,
                 @"the result's type is %@: it must be Float32 or Float16", SMTLNameOfType(result));
    SMTL_REQUIRE(result == MPSDataTypeFloat32 || left == MPSDataTypeFloat16, where,
                 @"the result's type is %@: it must be Float32, since the inputs' type is %@", SMTLNameOfType(result),
                 SMTLNameOfType(left));
}

static void transpose(smtl_tensor *tensor) {
    const size_t length = tensor->lengths[1], stride = tensor->strides[1];
    tensor->lengths[1] = tensor->lengths[2];
    tensor->strides[1] = tensor->strides[2];
    tensor->lengths[2] = length;
    tensor->strides[2] = stride;
}

@implementation MPSMatrixMultiplication

@synthesize resultMatrixOrigin = _resultMatrixOrigin;
@synthesize leftMatrixOrigin = _leftMatrixOrigin;
@synthesize rightMatrixOrigin = _rightMatrixOrigin;
@synthesize batchStart = _batchStart;
@synthesize batchSize = _batchSize;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    (void)device;
    [self release];
    SMTLRaise("-[MPSMatrixMultiplication initWithDevice:]", @"use initWithDevice:resultRows:resultColumns:...");
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                 transposeLeft:(BOOL)transposeLeft
                transposeRight:(BOOL)transposeRight
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns
                         alpha:(double)alpha
                          beta:(double)beta {
    self = [super initWithDevice:device];
    if (resultRows == 0 || resultColumns == 0 || interiorColumns == 0) {
        [self release];
        SMTLRaise("-[MPSMatrixMultiplication initWithDevice:...]",
                  @"resultRows %lu, resultColumns %lu and interiorColumns %lu must not be 0", UNSIGNED(resultRows),
                  UNSIGNED(resultColumns), UNSIGNED(interiorColumns));
    }
    _transposeLeft = transposeLeft;
    _transposeRight = transposeRight;
    _resultRows = resultRows;
    _resultColumns = resultColumns;
    _interiorColumns = interiorColumns;
    _alpha = alpha;
    _beta = beta;
    _batchSize = NSUIntegerMax;
    return self;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns {
    return [self initWithDevice:device transposeLeft:NO transposeRight:NO resultRows:resultRows
                  resultColumns:resultColumns
                interiorColumns:interiorColumns
                          alpha:1
                           beta:0];
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                   leftMatrix:(MPSMatrix *)leftMatrix
                  rightMatrix:(MPSMatrix *)rightMatrix
                 resultMatrix:(MPSMatrix *)resultMatrix {
    const char *where = "-[MPSMatrixMultiplication encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:]";
    SMTL_REQUIRE(leftMatrix != nil && rightMatrix != nil && resultMatrix != nil, where, @"matrices must not be nil");
    require_types(where, [leftMatrix dataType], [rightMatrix dataType], [resultMatrix dataType]);
    const NSUInteger available = least([leftMatrix matrices], least([rightMatrix matrices], [resultMatrix matrices]));
    const SMTLBatch batch = SMTLCheckBatch(where, _batchStart, _batchSize, available);
    SMTLRegion left =
        SMTLMatrixRegion(where, @"left", leftMatrix, _leftMatrixOrigin, _transposeLeft ? _interiorColumns : _resultRows,
                         _transposeLeft ? _resultRows : _interiorColumns, batch);
    SMTLRegion right = SMTLMatrixRegion(where, @"right", rightMatrix, _rightMatrixOrigin,
                                        _transposeRight ? _resultColumns : _interiorColumns,
                                        _transposeRight ? _interiorColumns : _resultColumns, batch);
    SMTLRegion result =
        SMTLMatrixRegion(where, @"result", resultMatrix, _resultMatrixOrigin, _resultRows, _resultColumns, batch);
    if (_transposeLeft) transpose(&left.tensor);
    if (_transposeRight) transpose(&right.tensor);
    SMTLEncodeProduct(where, commandBuffer, _device, &left, &right, NULL, &result, _alpha, _beta);
}

@end

@implementation MPSMatrixVectorMultiplication

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    (void)device;
    [self release];
    SMTLRaise("-[MPSMatrixVectorMultiplication initWithDevice:]", @"use initWithDevice:rows:columns:");
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                     transpose:(BOOL)transpose
                          rows:(NSUInteger)rows
                       columns:(NSUInteger)columns
                         alpha:(double)alpha
                          beta:(double)beta {
    self = [super initWithDevice:device];
    if (rows == 0 || columns == 0) {
        [self release];
        SMTLRaise("-[MPSMatrixVectorMultiplication initWithDevice:...]", @"rows %lu and columns %lu must not be 0",
                  UNSIGNED(rows), UNSIGNED(columns));
    }
    _transpose = transpose;
    _rows = rows;
    _columns = columns;
    _alpha = alpha;
    _beta = beta;
    return self;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device rows:(NSUInteger)rows columns:(NSUInteger)columns {
    return [self initWithDevice:device transpose:NO rows:rows columns:columns alpha:1 beta:0];
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
                  inputVector:(MPSVector *)inputVector
                 resultVector:(MPSVector *)resultVector {
    const char *where = "-[MPSMatrixVectorMultiplication encodeToCommandBuffer:inputMatrix:inputVector:resultVector:]";
    SMTL_REQUIRE(inputMatrix != nil && inputVector != nil && resultVector != nil, where,
                 @"the matrix and the vectors must not be nil");
    require_types(where, [inputMatrix dataType], [inputVector dataType], [resultVector dataType]);
    const NSUInteger available = least([inputMatrix matrices], least([inputVector vectors], [resultVector vectors]));
    const SMTLBatch batch = SMTLCheckBatch(where, _batchStart, _batchSize, available);
    SMTLRegion matrix = SMTLMatrixRegion(where, @"input", inputMatrix, _primarySourceMatrixOrigin,
                                         _transpose ? _columns : _rows, _transpose ? _rows : _columns, batch);
    SMTLRegion vector = SMTLVectorRegion(where, @"input", inputVector, _secondarySourceMatrixOrigin, _columns, batch);
    SMTLRegion result = SMTLVectorRegion(where, @"result", resultVector, _resultMatrixOrigin, _rows, batch);
    if (_transpose) transpose(&matrix.tensor);
    SMTLEncodeProduct(where, commandBuffer, _device, &matrix, &vector, NULL, &result, _alpha, _beta);
}

@end
