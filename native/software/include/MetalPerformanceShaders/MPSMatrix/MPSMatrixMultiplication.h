#ifndef SMTL_MPSMATRIXMULTIPLICATION_H
#define SMTL_MPSMATRIXMULTIPLICATION_H

#import <MetalPerformanceShaders/MPSMatrix/MPSMatrixTypes.h>

NS_ASSUME_NONNULL_BEGIN

/* C = alpha * op(A) * op(B) + beta * C; C's old values are not read if beta is 0. */
MTL_EXPORT
@interface MPSMatrixMultiplication : MPSKernel {
    MTLOrigin _resultMatrixOrigin;
    MTLOrigin _leftMatrixOrigin;
    MTLOrigin _rightMatrixOrigin;
    NSUInteger _batchStart;
    NSUInteger _batchSize;
    BOOL _transposeLeft;
    BOOL _transposeRight;
    NSUInteger _resultRows;
    NSUInteger _resultColumns;
    NSUInteger _interiorColumns;
    double _alpha;
    double _beta;
}
@property (readwrite, nonatomic) MTLOrigin resultMatrixOrigin;
@property (readwrite, nonatomic) MTLOrigin leftMatrixOrigin;
@property (readwrite, nonatomic) MTLOrigin rightMatrixOrigin;
@property (readwrite, nonatomic) NSUInteger batchStart;
@property (readwrite, nonatomic) NSUInteger batchSize;
- (instancetype)initWithDevice:(id<MTLDevice>)device
                 transposeLeft:(BOOL)transposeLeft
                transposeRight:(BOOL)transposeRight
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns
                         alpha:(double)alpha
                          beta:(double)beta;
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    resultRows:(NSUInteger)resultRows
                 resultColumns:(NSUInteger)resultColumns
               interiorColumns:(NSUInteger)interiorColumns;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                   leftMatrix:(MPSMatrix *)leftMatrix
                  rightMatrix:(MPSMatrix *)rightMatrix
                 resultMatrix:(MPSMatrix *)resultMatrix;
@end

/* y = alpha * op(A) * x + beta * y; of the vectors' origins, x counts elements. */
MTL_EXPORT
@interface MPSMatrixVectorMultiplication : MPSMatrixBinaryKernel {
    BOOL _transpose;
    NSUInteger _rows;
    NSUInteger _columns;
    double _alpha;
    double _beta;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device
                     transpose:(BOOL)transpose
                          rows:(NSUInteger)rows
                       columns:(NSUInteger)columns
                         alpha:(double)alpha
                          beta:(double)beta;
- (instancetype)initWithDevice:(id<MTLDevice>)device rows:(NSUInteger)rows columns:(NSUInteger)columns;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
                  inputVector:(MPSVector *)inputVector
                 resultVector:(MPSVector *)resultVector;
@end

NS_ASSUME_NONNULL_END
#endif
