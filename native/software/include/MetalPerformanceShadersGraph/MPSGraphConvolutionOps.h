#ifndef SMTL_MPSGRAPHCONVOLUTIONOPS_H
#define SMTL_MPSGRAPHCONVOLUTIONOPS_H

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MPSGraphConvolution2DOpDescriptor : MPSGraphObject <NSCopying> {
    NSUInteger _strideInX, _strideInY;
    NSUInteger _dilationRateInX, _dilationRateInY;
    NSUInteger _paddingLeft, _paddingRight, _paddingTop, _paddingBottom;
    MPSGraphPaddingStyle _paddingStyle;
    MPSGraphTensorNamedDataLayout _dataLayout;
    MPSGraphTensorNamedDataLayout _weightsLayout;
    NSUInteger _groups;
}
@property (readwrite, nonatomic) NSUInteger strideInX;
@property (readwrite, nonatomic) NSUInteger strideInY;
@property (readwrite, nonatomic) NSUInteger dilationRateInX;
@property (readwrite, nonatomic) NSUInteger dilationRateInY;
@property (readwrite, nonatomic) NSUInteger paddingLeft;
@property (readwrite, nonatomic) NSUInteger paddingRight;
@property (readwrite, nonatomic) NSUInteger paddingTop;
@property (readwrite, nonatomic) NSUInteger paddingBottom;
@property (readwrite, nonatomic) MPSGraphPaddingStyle paddingStyle;
/* NCHW or NHWC. */
@property (readwrite, nonatomic) MPSGraphTensorNamedDataLayout dataLayout;
/* OIHW or HWIO; with groups, I is the input channels of one group. */
@property (readwrite, nonatomic) MPSGraphTensorNamedDataLayout weightsLayout;
@property (readwrite, nonatomic) NSUInteger groups;
+ (nullable instancetype)descriptorWithStrideInX:(NSUInteger)strideInX
                                       strideInY:(NSUInteger)strideInY
                                 dilationRateInX:(NSUInteger)dilationRateInX
                                 dilationRateInY:(NSUInteger)dilationRateInY
                                          groups:(NSUInteger)groups
                                     paddingLeft:(NSUInteger)paddingLeft
                                    paddingRight:(NSUInteger)paddingRight
                                      paddingTop:(NSUInteger)paddingTop
                                   paddingBottom:(NSUInteger)paddingBottom
                                    paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                                      dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
                                   weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
+ (nullable instancetype)descriptorWithStrideInX:(NSUInteger)strideInX
                                       strideInY:(NSUInteger)strideInY
                                 dilationRateInX:(NSUInteger)dilationRateInX
                                 dilationRateInY:(NSUInteger)dilationRateInY
                                          groups:(NSUInteger)groups
                                    paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                                      dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
                                   weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout;
- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom;
@end

@interface MPSGraph (MPSGraphConvolutionOps)
- (MPSGraphTensor *)convolution2DWithSourceTensor:(MPSGraphTensor *)source
                                    weightsTensor:(MPSGraphTensor *)weights
                                       descriptor:(MPSGraphConvolution2DOpDescriptor *)descriptor
                                             name:(nullable NSString *)name;
@end

NS_ASSUME_NONNULL_END
#endif
