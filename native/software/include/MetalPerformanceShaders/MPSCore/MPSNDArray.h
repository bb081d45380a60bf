#ifndef SMTL_MPSCORE_MPSNDARRAY_H
#define SMTL_MPSCORE_MPSNDARRAY_H

#import <MetalPerformanceShaders/MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

/* Dimension 0 is the fastest; in a shape it comes last. */
MTL_EXPORT
@interface MPSNDArrayDescriptor : NSObject <NSCopying> {
@public
    MPSDataType _dataType;
    NSUInteger _numberOfDimensions;
    BOOL _preferPackedRows;
@protected
    NSUInteger _lengths[16];
    MPSDimensionSlice _slices[16];
    NSUInteger _order[16]; /* the dimension that stands at each index once transposed */
}
@property (readwrite, nonatomic) MPSDataType dataType;
@property (readwrite, nonatomic) NSUInteger numberOfDimensions;
/* NO: a row takes a multiple of 16 bytes. */
@property (readwrite, nonatomic) BOOL preferPackedRows;
- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex;
- (MPSDimensionSlice)sliceRangeForDimension:(NSUInteger)dimensionIndex;
- (void)sliceDimension:(NSUInteger)dimensionIndex withSubrange:(MPSDimensionSlice)subRange;
- (void)transposeDimension:(NSUInteger)dimensionIndex withDimension:(NSUInteger)dimensionIndex2;
- (NSArray<NSNumber *> *)getShape;
+ (instancetype)descriptorWithDataType:(MPSDataType)dataType
                        dimensionCount:(NSUInteger)numberOfDimensions
                        dimensionSizes:(NSUInteger *)dimensionSizes;
+ (instancetype)descriptorWithDataType:(MPSDataType)dataType shape:(NSArray<NSNumber *> *)shape;
- (void)reshapeWithShape:(NSArray<NSNumber *> *)shape;
@end

MTL_EXPORT
@interface MPSNDArray : NSObject {
    id<MTLDevice> _device;
    id<MTLBuffer> _buffer;
    MPSNDArray *_parent;
    NSString *_label;
    NSUInteger _offset;
    MPSDataType _dataType;
    NSUInteger _numberOfDimensions;
    NSUInteger _lengths[16];
    NSUInteger _strides[16]; /* in bytes */
    BOOL _ofUser;            /* the buffer is */
}
@property (copy, atomic, nullable) NSString *label;
@property (readonly, nonatomic) MPSDataType dataType;
@property (readonly, nonatomic) size_t dataTypeSize;
@property (readonly, nonatomic) NSUInteger numberOfDimensions;
@property (readonly, nonatomic, nullable) MPSNDArray *parent;
@property (readonly, nonatomic) id<MTLDevice> device;
- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex;
- (MPSNDArrayDescriptor *)descriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSNDArrayDescriptor *)descriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device scalar:(double)value;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSNDArrayDescriptor *)descriptor;
/* The buffer that the array was made with; nil if it has one of its own. */
- (nullable id<MTLBuffer>)userBuffer;
- (NSUInteger)resourceSize;
/* A view without a copy; nil if the descriptor asks for another type or for more than there is. */
- (nullable MPSNDArray *)arrayViewWithDescriptor:(MPSNDArrayDescriptor *)descriptor;
/* Strides count elements; nil shape: the array's own. */
- (nullable MPSNDArray *)arrayViewWithShape:(nullable MPSShape *)shape strides:(MPSShape *)strides;
/* Strides in bytes, dimension 0 first; NULL: packed. The array's memory must be visible to the CPU. */
- (void)readBytes:(void *)buffer strideBytes:(NSInteger *_Nullable)strideBytesPerDimension;
- (void)writeBytes:(void *)buffer strideBytes:(NSInteger *_Nullable)strideBytesPerDimension;
- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
@end

NS_ASSUME_NONNULL_END
#endif
