#ifndef SMTL_MPSCORE_MPSMATRIX_H
#define SMTL_MPSCORE_MPSMATRIX_H

#import <MetalPerformanceShaders/MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MPSMatrixDescriptor : NSObject {
    NSUInteger _rows;
    NSUInteger _columns;
    NSUInteger _matrices;
    NSUInteger _rowBytes;
    NSUInteger _matrixBytes;
    MPSDataType _dataType;
}
@property (readwrite, nonatomic) NSUInteger rows;
@property (readwrite, nonatomic) NSUInteger columns;
@property (readonly, nonatomic) NSUInteger matrices;
@property (readwrite, nonatomic) MPSDataType dataType;
@property (readwrite, nonatomic) NSUInteger rowBytes;
@property (readonly, nonatomic) NSUInteger matrixBytes;
+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                rowBytes:(NSUInteger)rowBytes
                                dataType:(MPSDataType)dataType;
+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                matrices:(NSUInteger)matrices
                                rowBytes:(NSUInteger)rowBytes
                             matrixBytes:(NSUInteger)matrixBytes
                                dataType:(MPSDataType)dataType;
/* The rowBytes that the device prefers for so many elements. */
+ (size_t)rowBytesForColumns:(NSUInteger)columns dataType:(MPSDataType)dataType;
@end

MTL_EXPORT
@interface MPSVectorDescriptor : NSObject {
    NSUInteger _length;
    NSUInteger _vectors;
    NSUInteger _vectorBytes;
    MPSDataType _dataType;
}
@property (readwrite, nonatomic) NSUInteger length;
@property (readonly, nonatomic) NSUInteger vectors;
@property (readwrite, nonatomic) MPSDataType dataType;
@property (readonly, nonatomic) NSUInteger vectorBytes;
+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length dataType:(MPSDataType)dataType;
+ (instancetype)vectorDescriptorWithLength:(NSUInteger)length
                                   vectors:(NSUInteger)vectors
                               vectorBytes:(NSUInteger)vectorBytes
                                  dataType:(MPSDataType)dataType;
+ (size_t)vectorBytesForLength:(NSUInteger)length dataType:(MPSDataType)dataType;
@end

/* A view of a buffer as matrices of equal size. */
MTL_EXPORT
@interface MPSMatrix : NSObject {
    id<MTLDevice> _device;
    id<MTLBuffer> _data;
    NSUInteger _offset;
    NSUInteger _rows;
    NSUInteger _columns;
    NSUInteger _matrices;
    NSUInteger _rowBytes;
    NSUInteger _matrixBytes;
    MPSDataType _dataType;
}
@property (readonly, retain, nonatomic) id<MTLDevice> device;
@property (readonly, nonatomic) NSUInteger rows;
@property (readonly, nonatomic) NSUInteger columns;
@property (readonly, nonatomic) NSUInteger matrices;
@property (readonly, nonatomic) MPSDataType dataType;
@property (readonly, nonatomic) NSUInteger rowBytes;
@property (readonly, nonatomic) NSUInteger matrixBytes;
@property (readonly, nonatomic) NSUInteger offset;
@property (readonly, nonatomic) id<MTLBuffer> data;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSMatrixDescriptor *)descriptor;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSMatrixDescriptor *)descriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSMatrixDescriptor *)descriptor;
- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (NSUInteger)resourceSize;
@end

MTL_EXPORT
@interface MPSVector : NSObject {
    id<MTLDevice> _device;
    id<MTLBuffer> _data;
    NSUInteger _offset;
    NSUInteger _length;
    NSUInteger _vectors;
    NSUInteger _vectorBytes;
    MPSDataType _dataType;
}
@property (readonly, retain, nonatomic) id<MTLDevice> device;
@property (readonly, nonatomic) NSUInteger length;
@property (readonly, nonatomic) NSUInteger vectors;
@property (readonly, nonatomic) MPSDataType dataType;
@property (readonly, nonatomic) NSUInteger vectorBytes;
@property (readonly, nonatomic) NSUInteger offset;
@property (readonly, nonatomic) id<MTLBuffer> data;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer descriptor:(MPSVectorDescriptor *)descriptor;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSVectorDescriptor *)descriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSVectorDescriptor *)descriptor;
- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (NSUInteger)resourceSize;
@end

NS_ASSUME_NONNULL_END
#endif
