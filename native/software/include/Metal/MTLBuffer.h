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
/* On a device of the same peer group: a view of this buffer's memory, which kernels there can use. */
@property (nullable, readonly) id<MTLBuffer> remoteStorageBuffer;
- (nullable id<MTLBuffer>)newRemoteBufferViewForDevice:(id<MTLDevice>)device;
@end

NS_ASSUME_NONNULL_END
#endif
