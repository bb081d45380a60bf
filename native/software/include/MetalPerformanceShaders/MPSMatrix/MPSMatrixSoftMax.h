#ifndef SMTL_MPSMATRIXSOFTMAX_H
#define SMTL_MPSMATRIXSOFTMAX_H

#import <MetalPerformanceShaders/MPSMatrix/MPSMatrixTypes.h>

NS_ASSUME_NONNULL_BEGIN

/* The softmax of each row. Rows and columns beyond the source matrix are not counted: by default all are processed. */
MTL_EXPORT
@interface MPSMatrixSoftMax : MPSMatrixUnaryKernel {
    NSUInteger _sourceRows;
    NSUInteger _sourceColumns;
}
@property (readwrite, nonatomic) NSUInteger sourceRows;
@property (readwrite, nonatomic) NSUInteger sourceColumns;
- (instancetype)initWithDevice:(id<MTLDevice>)device;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
                 resultMatrix:(MPSMatrix *)resultMatrix;
@end

MTL_EXPORT
@interface MPSMatrixLogSoftMax : MPSMatrixSoftMax
@end

NS_ASSUME_NONNULL_END
#endif
