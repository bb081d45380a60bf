/* What buffers, heaps and indirect command buffers have in common: a device, and options that say how memory is kept.
 */
#ifndef SMTL_RESOURCE_H
#define SMTL_RESOURCE_H

#import "framework/device/SMTLDevice.h"
#import <Metal/MTLResource.h>

/* Resource options that this device does not know raise; the rest come back normalised (default hazard tracking
 * resolved as Metal resolves it: tracked for a resource of its own, untracked in a heap). */
MTLResourceOptions SMTLResolveOptions(const char *where, MTLResourceOptions options, bool in_heap);
MTLStorageMode SMTLStorageModeOf(MTLResourceOptions options);
MTLCPUCacheMode SMTLCacheModeOf(MTLResourceOptions options);
MTLHazardTrackingMode SMTLHazardTrackingModeOf(MTLResourceOptions options);

@interface SMTLResource : SMTLObject {
@public
    SMTLDevice *_device;
    MTLResourceOptions _options;

@private
    MTLPurgeableState _purgeableState;
}
@property (readonly) id<MTLDevice> device;
@property (readonly) MTLResourceOptions resourceOptions;
@property (readonly) MTLStorageMode storageMode;
@property (readonly) MTLCPUCacheMode cpuCacheMode;
@property (readonly) MTLHazardTrackingMode hazardTrackingMode;
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state;
@end

#endif
