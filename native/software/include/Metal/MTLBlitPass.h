#ifndef SMTL_MTLBLITPASS_H
#define SMTL_MTLBLITPASS_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MTLBlitPassDescriptor : NSObject <NSCopying>
+ (MTLBlitPassDescriptor *)blitPassDescriptor;
@end

NS_ASSUME_NONNULL_END
#endif
