#ifndef SMTL_MPSGRAPHCORE_H
#define SMTL_MPSGRAPHCORE_H

#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MPSGraphObject : NSObject
@end

MTL_EXPORT
@interface MPSGraphType : MPSGraphObject <NSCopying>
@end

MTL_EXPORT
@interface MPSGraphShapedType : MPSGraphType {
    MPSShape *_shape;
    MPSDataType _dataType;
}
/* nil: any shape. */
@property (readwrite, copy, atomic, nullable) MPSShape *shape;
@property (readwrite, atomic) MPSDataType dataType;
- (instancetype)initWithShape:(nullable MPSShape *)shape dataType:(MPSDataType)dataType;
- (BOOL)isEqualTo:(nullable MPSGraphShapedType *)object;
@end

typedef NS_ENUM(NSUInteger, MPSGraphTensorNamedDataLayout) {
    MPSGraphTensorNamedDataLayoutNCHW = 0,
    MPSGraphTensorNamedDataLayoutNHWC = 1,
    MPSGraphTensorNamedDataLayoutOIHW = 2,
    MPSGraphTensorNamedDataLayoutHWIO = 3,
    MPSGraphTensorNamedDataLayoutCHW = 4,
    MPSGraphTensorNamedDataLayoutHWC = 5,
    MPSGraphTensorNamedDataLayoutHW = 6,
    MPSGraphTensorNamedDataLayoutNCDHW = 7,
    MPSGraphTensorNamedDataLayoutNDHWC = 8,
    MPSGraphTensorNamedDataLayoutOIDHW = 9,
    MPSGraphTensorNamedDataLayoutDHWIO = 10,
};

typedef NS_ENUM(NSUInteger, MPSGraphPaddingStyle) {
    MPSGraphPaddingStyleExplicit = 0,
    MPSGraphPaddingStyleTF_VALID = 1,
    MPSGraphPaddingStyleTF_SAME = 2,
    MPSGraphPaddingStyleExplicitOffset = 3,
    MPSGraphPaddingStyleONNX_SAME_LOWER = 4,
};

NS_ASSUME_NONNULL_END
#endif
