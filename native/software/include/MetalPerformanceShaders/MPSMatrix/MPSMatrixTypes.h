#ifndef SMTL_MPSMATRIXTYPES_H
#define SMTL_MPSMATRIXTYPES_H

#import <MetalPerformanceShaders/MPSCore/MPSKernel.h>
#import <MetalPerformanceShaders/MPSCore/MPSMatrix.h>

NS_ASSUME_NONNULL_BEGIN

/* Of an origin, x is the row and y the column; z is 0. By default all matrices are processed. */
MTL_EXPORT
@interface MPSMatrixUnaryKernel : MPSKernel {
@protected
    MTLOrigin _sourceMatrixOrigin;
    MTLOrigin _resultMatrixOrigin;
    NSUInteger _batchStart;
    NSUInteger _batchSize;
}
@property (readwrite, nonatomic) MTLOrigin sourceMatrixOrigin;
@property (readwrite, nonatomic) MTLOrigin resultMatrixOrigin;
@property (readwrite, nonatomic) NSUInteger batchStart;
@property (readwrite, nonatomic) NSUInteger batchSize;
@end

MTL_EXPORT
@interface MPSMatrixBinaryKernel : MPSKernel {
@protected
    MTLOrigin _primarySourceMatrixOrigin;
    MTLOrigin _secondarySourceMatrixOrigin;
    MTLOrigin _resultMatrixOrigin;
    NSUInteger _batchStart;
    NSUInteger _batchSize;
}
@property (readwrite, nonatomic) MTLOrigin primarySourceMatrixOrigin;
@property (readwrite, nonatomic) MTLOrigin secondarySourceMatrixOrigin;
@property (readwrite, nonatomic) MTLOrigin resultMatrixOrigin;
@property (readwrite, nonatomic) NSUInteger batchStart;
@property (readwrite, nonatomic) NSUInteger batchSize;
@end

NS_ASSUME_NONNULL_END
#endif
