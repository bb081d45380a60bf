#ifndef SMTL_MPSKERNEL_H
#define SMTL_MPSKERNEL_H

#import <MetalPerformanceShaders/MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MPSKernel : NSObject <NSCopying> {
@protected
    id<MTLDevice> _device;
    MPSKernelOptions _options;
    NSString *_label;
}
@property (readwrite, nonatomic) MPSKernelOptions options;
@property (readonly, retain, nonatomic) id<MTLDevice> device;
@property (copy, atomic, nullable) NSString *label;
- (instancetype)initWithDevice:(id<MTLDevice>)device;
/* The same kernel on another device; nil for its own. */
- (instancetype)copyWithZone:(nullable NSZone *)zone device:(nullable id<MTLDevice>)device;
@end

NS_ASSUME_NONNULL_END
#endif
