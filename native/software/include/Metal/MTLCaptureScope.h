#ifndef SMTL_MTLCAPTURESCOPE_H
#define SMTL_MTLCAPTURESCOPE_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLCommandQueue;
@protocol MTLDevice;

@protocol MTLCaptureScope <NSObject>
@property (nullable, copy, atomic) NSString *label;
@property (nonnull, readonly, nonatomic) id<MTLDevice> device;
@property (nullable, readonly, nonatomic) id<MTLCommandQueue> commandQueue;
- (void)beginScope;
- (void)endScope;
@end

NS_ASSUME_NONNULL_END
#endif
