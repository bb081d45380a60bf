#ifndef SMTL_MTLFENCE_H
#define SMTL_MTLFENCE_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

@protocol MTLFence <NSObject>
@property (readonly) id<MTLDevice> device;
@property (nullable, copy, atomic) NSString *label;
@end

NS_ASSUME_NONNULL_END
#endif
