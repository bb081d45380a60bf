#import "SMTLResource.h"

#import "support/SMTLError.h"

MTLStorageMode SMTLStorageModeOf(MTLResourceOptions options) {
    return (MTLStorageMode)((options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift);
}

MTLCPUCacheMode SMTLCacheModeOf(MTLResourceOptions options) {
    return (MTLCPUCacheMode)((options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift);
}

MTLHazardTrackingMode SMTLHazardTrackingModeOf(MTLResourceOptions options) {
    return (MTLHazardTrackingMode)((options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift);
}

MTLResourceOptions SMTLResolveOptions(const char *where, MTLResourceOptions options, bool in_heap) {
    const NSUInteger known =
        MTLResourceCPUCacheModeMask | MTLResourceStorageModeMask | MTLResourceHazardTrackingModeMask;
    SMTL_REQUIRE((options & ~known) == 0, where, @"unknown resource options 0x%lx", (unsigned long)options);
    NSUInteger cache_mode = options & MTLResourceCPUCacheModeMask;
    SMTL_REQUIRE(cache_mode <= MTLResourceCPUCacheModeWriteCombined, where, @"unknown CPU cache mode %lu",
                 (unsigned long)cache_mode);
    SMTL_REQUIRE(SMTLStorageModeOf(options) <= MTLStorageModePrivate, where,
                 @"storage mode %lu is not one of a buffer's (shared, managed, private)",
                 (unsigned long)SMTLStorageModeOf(options));
    NSUInteger tracking = options & MTLResourceHazardTrackingModeMask;
    SMTL_REQUIRE(tracking <= MTLResourceHazardTrackingModeTracked, where, @"unknown hazard tracking mode %lu",
                 (unsigned long)(tracking >> MTLResourceHazardTrackingModeShift));
    if (tracking == MTLResourceHazardTrackingModeDefault)
        options |= in_heap ? MTLResourceHazardTrackingModeUntracked : MTLResourceHazardTrackingModeTracked;
    return options;
}

@implementation SMTLResource

- (id<MTLDevice>)device {
    return _device;
}

- (MTLResourceOptions)resourceOptions {
    return _options;
}

- (MTLStorageMode)storageMode {
    return SMTLStorageModeOf(_options);
}

- (MTLCPUCacheMode)cpuCacheMode {
    return SMTLCacheModeOf(_options);
}

- (MTLHazardTrackingMode)hazardTrackingMode {
    return SMTLHazardTrackingModeOf(_options);
}

/* Nothing is ever purged, but the state is kept. */
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
    const MTLPurgeableState before = state == MTLPurgeableStateKeepCurrent
                                         ? __atomic_load_n(&_purgeableState, __ATOMIC_RELAXED)
                                         : __atomic_exchange_n(&_purgeableState, state, __ATOMIC_RELAXED);
    /* What has not been set yet is 0. */
    return before == 0 ? MTLPurgeableStateNonVolatile : before;
}

@end
