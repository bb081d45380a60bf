#ifndef SMTL_MTLBUFFER_H
#define SMTL_MTLBUFFER_H

#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer <MTLResource>
@property (readonly) NSUInteger length;
@property (readonly) MTLGPUAddress gpuAddress;
/* NULL for private storage, although Apple's header calls it nonnull. */
- (void *)contents;
- (void)didModifyRange:(NSRange)range;
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range;
- (void)removeAllDebugMarkers;
@end

NS_ASSUME_NONNULL_END
#endif
