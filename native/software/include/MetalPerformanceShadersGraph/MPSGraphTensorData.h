#ifndef SMTL_MPSGRAPHTENSORDATA_H
#define SMTL_MPSGRAPHTENSORDATA_H

#import <MetalPerformanceShadersGraph/MPSGraphDevice.h>

NS_ASSUME_NONNULL_BEGIN

/* Memory that a tensor is read from or written to. */
MTL_EXPORT
@interface MPSGraphTensorData : MPSGraphObject {
    MPSNDArray *_array;
}
@property (readonly, copy, nonatomic) MPSShape *shape;
@property (readonly, nonatomic) MPSDataType dataType;
@property (readonly, nonatomic) MPSGraphDevice *device;
- (instancetype)initWithDevice:(MPSGraphDevice *)device
                          data:(NSData *)data
                         shape:(MPSShape *)shape
                      dataType:(MPSDataType)dataType;
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer shape:(MPSShape *)shape dataType:(MPSDataType)dataType;
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer
                            shape:(MPSShape *)shape
                         dataType:(MPSDataType)dataType
                         rowBytes:(NSUInteger)rowBytes;
/* Shape: rows and columns, after the matrices if there are several. */
- (instancetype)initWithMPSMatrix:(MPSMatrix *)matrix;
- (instancetype)initWithMPSVector:(MPSVector *)vector;
- (instancetype)initWithMPSNDArray:(MPSNDArray *)ndarray;
- (MPSNDArray *)mpsndarray;
@end

NS_ASSUME_NONNULL_END
#endif
