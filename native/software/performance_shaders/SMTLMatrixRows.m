#import "SMTLMatrix.h"

#include "compute/rows.h"

#define UNSIGNED(value) (unsigned long)(value)

static NSUInteger least(NSUInteger a, NSUInteger b) { return a < b ? a : b; }

static BOOL is_float(MPSDataType type) { return type == MPSDataTypeFloat32 || type == MPSDataTypeFloat16; }

/* What the matrix has from `origin` on, or less if the kernel's property states less. */
static NSUInteger remaining(const char *where, const char *what, NSUInteger stated, NSUInteger origin,
                            NSUInteger size) {
    SMTL_REQUIRE(origin < size, where, @"the source origin's %s %lu is outside the input matrix, which has %lu %ss",
                 what, UNSIGNED(origin), UNSIGNED(size), what);
    return least(stated, size - origin);
}

static bool run_softmax(const void *argument, smtl_host_failure *failure) {
    return smtl_softmax_run(argument, &failure->message);
}

static bool run_top_k(const void *argument, smtl_host_failure *failure) {
    return smtl_top_k_run(argument, &failure->message);
}

@implementation MPSMatrixSoftMax

@synthesize sourceRows = _sourceRows;
@synthesize sourceColumns = _sourceColumns;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    self = [super initWithDevice:device];
    _sourceRows = NSUIntegerMax;
    _sourceColumns = NSUIntegerMax;
    return self;
}

- (BOOL)isLogarithm {
    return NO;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
                 resultMatrix:(MPSMatrix *)resultMatrix {
    const char *where = "-[MPSMatrixSoftMax encodeToCommandBuffer:inputMatrix:resultMatrix:]";
    SMTL_REQUIRE(inputMatrix != nil && resultMatrix != nil, where, @"matrices must not be nil");
    SMTL_REQUIRE(is_float([inputMatrix dataType]), where, @"the input's type is %@: it must be Float32 or Float16",
                 SMTLNameOfType([inputMatrix dataType]));
    SMTL_REQUIRE([inputMatrix dataType] == [resultMatrix dataType], where,
                 @"the result's type is %@: it must be the input's, %@", SMTLNameOfType([resultMatrix dataType]),
                 SMTLNameOfType([inputMatrix dataType]));
    SMTLCommandBuffer *own = SMTLCheckCommandBuffer(where, commandBuffer, _device);
    const SMTLBatch batch =
        SMTLCheckBatch(where, _batchStart, _batchSize, least([inputMatrix matrices], [resultMatrix matrices]));
    const NSUInteger rows = remaining(where, "row", _sourceRows, _sourceMatrixOrigin.x, [inputMatrix rows]);
    const NSUInteger columns = remaining(where, "column", _sourceColumns, _sourceMatrixOrigin.y, [inputMatrix columns]);
    SMTLRegion source = SMTLMatrixRegion(where, @"input", inputMatrix, _sourceMatrixOrigin, rows, columns, batch);
    SMTLRegion result = SMTLMatrixRegion(where, @"result", resultMatrix, _resultMatrixOrigin, rows, columns, batch);
    const SMTLHostAccess accesses[] = {SMTLAccessRegion(where, &source, (SMTLDevice *)_device, NO),
                                       SMTLAccessRegion(where, &result, (SMTLDevice *)_device, YES)};
    const smtl_softmax softmax = {source.tensor, result.tensor, [self isLogarithm]};
    SMTLEncodeHostCommand(own, where, run_softmax, &softmax, sizeof softmax, accesses, 2);
}

@end

@implementation MPSMatrixLogSoftMax

- (BOOL)isLogarithm {
    return YES;
}

@end

/* A kernel's registers hold so many. */
static const NSUInteger largest_count = 16;

@implementation MPSMatrixFindTopK

@synthesize sourceRows = _sourceRows;
@synthesize sourceColumns = _sourceColumns;
@synthesize indexOffset = _indexOffset;
@synthesize numberOfTopKValues = _numberOfTopKValues;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    (void)device;
    [self release];
    SMTLRaise("-[MPSMatrixFindTopK initWithDevice:]", @"use initWithDevice:numberOfTopKValues:");
}

- (instancetype)initWithDevice:(id<MTLDevice>)device numberOfTopKValues:(NSUInteger)numberOfTopKValues {
    self = [super initWithDevice:device];
    _sourceRows = NSUIntegerMax;
    _sourceColumns = NSUIntegerMax;
    _numberOfTopKValues = numberOfTopKValues;
    return self;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
            resultIndexMatrix:(MPSMatrix *)resultIndexMatrix
            resultValueMatrix:(MPSMatrix *)resultValueMatrix {
    const char *where = "-[MPSMatrixFindTopK encodeToCommandBuffer:inputMatrix:resultIndexMatrix:resultValueMatrix:]";
    SMTL_REQUIRE(inputMatrix != nil && resultIndexMatrix != nil && resultValueMatrix != nil, where,
                 @"matrices must not be nil");
    SMTL_REQUIRE(is_float([inputMatrix dataType]), where, @"the input's type is %@: it must be Float32 or Float16",
                 SMTLNameOfType([inputMatrix dataType]));
    SMTL_REQUIRE([resultValueMatrix dataType] == [inputMatrix dataType], where,
                 @"the values' type is %@: it must be the input's, %@", SMTLNameOfType([resultValueMatrix dataType]),
                 SMTLNameOfType([inputMatrix dataType]));
    SMTL_REQUIRE([resultIndexMatrix dataType] == MPSDataTypeUInt32, where,
                 @"the indices' type is %@: it must be UInt32", SMTLNameOfType([resultIndexMatrix dataType]));
    SMTLCommandBuffer *own = SMTLCheckCommandBuffer(where, commandBuffer, _device);
    const NSUInteger available =
        least([inputMatrix matrices], least([resultIndexMatrix matrices], [resultValueMatrix matrices]));
    const SMTLBatch batch = SMTLCheckBatch(where, _batchStart, _batchSize, available);
    const NSUInteger rows = remaining(where, "row", _sourceRows, _sourceMatrixOrigin.x, [inputMatrix rows]);
    const NSUInteger columns = remaining(where, "column", _sourceColumns, _sourceMatrixOrigin.y, [inputMatrix columns]);
    const NSUInteger count = _numberOfTopKValues;
    SMTL_REQUIRE(count > 0 && count <= largest_count && count <= columns, where,
                 @"numberOfTopKValues %lu is not between 1 and the lesser of %lu and the %lu columns", UNSIGNED(count),
                 UNSIGNED(largest_count), UNSIGNED(columns));
    SMTL_REQUIRE(_indexOffset <= UINT32_MAX && columns <= UINT32_MAX - _indexOffset, where,
                 @"indexOffset %lu leaves no room for the indices of %lu columns", UNSIGNED(_indexOffset),
                 UNSIGNED(columns));
    SMTLRegion source = SMTLMatrixRegion(where, @"input", inputMatrix, _sourceMatrixOrigin, rows, columns, batch);
    SMTLRegion indices = SMTLMatrixRegion(where, @"index", resultIndexMatrix, _resultMatrixOrigin, rows, count, batch);
    SMTLRegion values = SMTLMatrixRegion(where, @"value", resultValueMatrix, _resultMatrixOrigin, rows, count, batch);
    const SMTLHostAccess accesses[] = {SMTLAccessRegion(where, &source, (SMTLDevice *)_device, NO),
                                       SMTLAccessRegion(where, &indices, (SMTLDevice *)_device, YES),
                                       SMTLAccessRegion(where, &values, (SMTLDevice *)_device, YES)};
    const smtl_top_k top_k = {source.tensor, values.tensor, indices.tensor, (uint32_t)count, (uint32_t)_indexOffset};
    SMTLEncodeHostCommand(own, where, run_top_k, &top_k, sizeof top_k, accesses, 3);
}

@end
