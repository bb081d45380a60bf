#ifndef SMTL_MPSMATRIXFINDTOPK_H
#define SMTL_MPSMATRIXFINDTOPK_H

#import <MetalPerformanceShaders/MPSMatrix/MPSMatrixTypes.h>

NS_ASSUME_NONNULL_BEGIN

/* The largest values of each row, the largest first, and their columns, at most 16. */
MTL_EXPORT
@interface MPSMatrixFindTopK : MPSMatrixUnaryKernel {
    NSUInteger _sourceRows;
    NSUInteger _sourceColumns;
    NSUInteger _indexOffset;
    NSUInteger _numberOfTopKValues;
}
@property (readwrite, nonatomic) NSUInteger sourceRows;
@property (readwrite, nonatomic) NSUInteger sourceColumns;
/* Added to each index; column 0 of the source origin's is 0. */
@property (readwrite, nonatomic) NSUInteger indexOffset;
@property (readwrite, nonatomic) NSUInteger numberOfTopKValues;
- (instancetype)initWithDevice:(id<MTLDevice>)device numberOfTopKValues:(NSUInteger)numberOfTopKValues;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  inputMatrix:(MPSMatrix *)inputMatrix
            resultIndexMatrix:(MPSMatrix *)resultIndexMatrix
            resultValueMatrix:(MPSMatrix *)resultValueMatrix;
@end

NS_ASSUME_NONNULL_END
#endif
