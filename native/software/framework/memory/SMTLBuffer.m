#import "SMTLBuffer.h"

#import "SMTLHeap.h"
#include "engine/blit.h"
#include "objc_runtime/SMTLBlocks.h"
#import "support/SMTLError.h"
#include "support/SMTLInjection.h"
#include "support/settings.h"
#include <string.h>

/* Releasing a buffer autoreleases on Apple's systems too: whoever releases one without a pool sees it here. */
@interface SMTLReleaseMarker : SMTLObject
@end

@implementation SMTLReleaseMarker

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_RELEASE_MARKER;
}

@end

SMTLBuffer *SMTLCheckBlitSource(const char *where, id<MTLBuffer> buffer, SMTLDevice *device) {
    SMTL_REQUIRE(buffer != nil, where, @"buffer must not be nil");
    SMTLBuffer *own = (SMTLBuffer *)buffer;
    SMTL_REQUIRE(own->_device == device, where, @"the buffer belongs to device \"%@\", not to \"%@\"",
                 [own->_device name], [device name]);
    return own;
}

SMTLBuffer *SMTLCheckBuffer(const char *where, id<MTLBuffer> buffer, SMTLDevice *device) {
    SMTLBuffer *own = SMTLCheckBlitSource(where, buffer, device);
    SMTL_REQUIRE(own->_remote == nil, where, @"the buffer is a remote view, which only a blit may use, as its source");
    return own;
}

@implementation SMTLBuffer

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_BUFFER;
}

/* Memory for `memory`, accounted to the device; false leaves nothing behind. */
static bool take_memory(SMTLDevice *device, smtl_memory *memory, NSUInteger length, bool filled) {
    size_t size = smtl_memory_reserved(length);
    if (!SMTLDeviceTakeMemory(device, size, true)) return false;
    if (!smtl_memory_allocate(memory, length, filled)) {
        SMTLDeviceGiveMemory(device, size, true);
        return false;
    }
    return true;
}

static void give_memory(SMTLDevice *device, smtl_memory *memory) {
    if (memory->base != NULL) {
        size_t size = memory->size;
        smtl_memory_free(memory);
        SMTLDeviceGiveMemory(device, size, true);
    }
}

- (void)setDevice:(SMTLDevice *)device length:(NSUInteger)length options:(MTLResourceOptions)options {
    _device = device;
    _length = length;
    _options = options;
}

/* Gives a managed buffer its second copy. */
- (BOOL)makeManagedCopy:(bool)filled {
    if (!take_memory(_device, &_managed_memory, _length, filled)) return NO;
    _cpu_bytes = _managed_memory.base;
    return YES;
}

- (instancetype)initWithDevice:(SMTLDevice *)device
                         bytes:(const void *)bytes
                        length:(NSUInteger)length
                       options:(MTLResourceOptions)options {
    self = [super init];
    [self setDevice:device length:length options:options];
    bool filled = bytes != NULL;
    MTLStorageMode mode = SMTLStorageModeOf(options);
    if (smtl_allocation_must_fail() || !take_memory(device, &_memory, length, filled)) {
        [self release];
        return nil;
    }
    _device_bytes = _memory.base;
    [self setWatched:_memory.watched];
    _cpu_bytes = mode == MTLStorageModeShared ? _device_bytes : NULL;
    if (mode == MTLStorageModeManaged && ![self makeManagedCopy:filled]) {
        [self release];
        return nil;
    }
    if (filled) {
        memcpy(_device_bytes, bytes, length);
        if (mode == MTLStorageModeManaged) memcpy(_cpu_bytes, bytes, length);
    }
    return self;
}

- (instancetype)initWithDevice:(SMTLDevice *)device
                   noCopyBytes:(void *)bytes
                        length:(NSUInteger)length
                       options:(MTLResourceOptions)options
                   deallocator:(void (^)(void *pointer, NSUInteger length))deallocator {
    self = [super init];
    [self setDevice:device length:length options:options];
    if (smtl_allocation_must_fail()) {
        [self release];
        return nil;
    }
    _cpu_bytes = bytes;
    if (SMTLStorageModeOf(options) == MTLStorageModeManaged) {
        if (!take_memory(device, &_memory, length, true)) {
            [self release];
            return nil;
        }
        _device_bytes = memcpy(_memory.base, bytes, length);
        [self setWatched:_memory.watched];
    } else {
        _device_bytes = bytes;
        if (smtl_sanitizer_enabled()) [self setWatched:smtl_sanitizer_watch(bytes, length)];
    }
    SMTLDeviceTakeMemory(device, length, false);
    /* Set last: a failed initialiser leaves the memory to its owner. */
    _deallocator = deallocator == NULL ? ^(void *pointer, NSUInteger size) {
        (void)pointer;
        (void)size;
    } : SMTLCopyBlock(deallocator);
    return self;
}

- (instancetype)initWithHeap:(SMTLHeap *)heap
                       bytes:(uint8_t *)bytes
                     watched:(smtl_watched *)watched
                      offset:(NSUInteger)offset
                      length:(NSUInteger)length
                     options:(MTLResourceOptions)options {
    self = [super init];
    [self setDevice:heap->_device length:length options:options];
    _heap = [heap retain];
    _heap_offset = offset;
    _device_bytes = watched == NULL ? bytes : smtl_sanitizer_bytes(watched);
    [self setWatched:watched];
    _cpu_bytes = SMTLStorageModeOf(options) == MTLStorageModeShared ? _device_bytes : NULL;
    return self;
}

/* Only a private buffer has views, so the CPU sees the bytes through neither. */
- (instancetype)initWithRemote:(SMTLBuffer *)remote device:(SMTLDevice *)device {
    self = [super init];
    [self setDevice:device length:remote->_length options:remote->_options];
    _options = (_options & ~MTLResourceStorageModeMask) | MTLResourceStorageModePrivate;
    _remote = [remote retain];
    _device_bytes = remote->_device_bytes;
    return self;
}

- (id<MTLBuffer>)newRemoteBufferViewForDevice:(id<MTLDevice>)device {
    const char *where = "-[MTLBuffer newRemoteBufferViewForDevice:]";
    SMTL_REQUIRE(device != nil, where, @"device must not be nil");
    SMTL_REQUIRE((SMTLDevice *)device != _device, where, @"the buffer belongs to this device itself");
    SMTL_REQUIRE([device peerGroupID] != 0 && [device peerGroupID] == [_device peerGroupID], where,
                 @"device \"%@\" is in no peer group with \"%@\"", [device name], [_device name]);
    SMTL_REQUIRE(SMTLStorageModeOf(_options) == MTLStorageModePrivate && _remote == nil, where,
                 @"a peer can see only a private buffer that is not itself a view");
    return [[SMTLBuffer alloc] initWithRemote:self device:(SMTLDevice *)device];
}

- (id<MTLBuffer>)remoteStorageBuffer {
    return [[_remote retain] autorelease];
}

/* For the kernel sanitizer; NULL while that is off. */
- (void)setWatched:(smtl_watched *)watched {
    _watched = watched;
    if (watched != NULL && [self hazardTrackingMode] == MTLHazardTrackingModeUntracked)
        smtl_sanitizer_set_untracked(watched);
}

- (void)setLabel:(NSString *)label {
    [super setLabel:label];
    if (_watched != NULL) smtl_sanitizer_set_label(_watched, [label UTF8String]);
}

- (void)dealloc {
    [_remote release];
    if (_watched != NULL && _memory.watched == NULL) smtl_sanitizer_free(_watched);
    if (_deallocator != NULL) {
        _deallocator(_cpu_bytes, _length);
        Block_release(_deallocator);
        SMTLDeviceGiveMemory(_device, _length, false);
    }
    give_memory(_device, &_memory);
    give_memory(_device, &_managed_memory);
    if (_heap != nil) {
        [_heap giveBackOffset:_heap_offset length:_length aliased:_aliasable];
        [_heap release];
    }
    [[[SMTLReleaseMarker alloc] init] autorelease];
    [super dealloc];
}

- (void)copyToCPU {
    if (_cpu_bytes != NULL && _cpu_bytes != _device_bytes) smtl_blit_copy(_cpu_bytes, _device_bytes, _length);
}

- (void *)contents {
    return _cpu_bytes;
}

- (void)didModifyRange:(NSRange)range {
    const char *where = "-[MTLBuffer didModifyRange:]";
    SMTL_REQUIRE(SMTLStorageModeOf(_options) == MTLStorageModeManaged, where, @"the buffer's storage is not managed");
    SMTL_REQUIRE(range.location <= _length && range.length <= _length - range.location, where,
                 @"range {%lu, %lu} exceeds the buffer's length %lu", (unsigned long)range.location,
                 (unsigned long)range.length, (unsigned long)_length);
    memcpy(_device_bytes + range.location, _cpu_bytes + range.location, range.length);
}

- (NSUInteger)length {
    return _length;
}

- (MTLGPUAddress)gpuAddress {
    return (MTLGPUAddress)(uintptr_t)_device_bytes;
}

- (NSUInteger)allocatedSize {
    if (_heap != nil) return smtl_memory_reserved(_length);
    NSUInteger borrowed = _deallocator == NULL ? 0 : _length;
    return borrowed + (_memory.base == NULL ? 0 : _memory.size) +
           (_managed_memory.base == NULL ? 0 : _managed_memory.size);
}

- (id<MTLHeap>)heap {
    return [[_heap retain] autorelease];
}

- (NSUInteger)heapOffset {
    return _heap_offset;
}

- (void)makeAliasable {
    SMTL_REQUIRE(_heap != nil, "-[MTLResource makeAliasable]", @"the buffer does not come from a heap");
    if (!_aliasable) {
        _aliasable = YES;
        [_heap makeAliasableAtOffset:_heap_offset];
    }
}

- (BOOL)isAliasable {
    return _aliasable;
}

/* Markers annotate captures, and there is nothing to capture with. */
- (void)addDebugMarker:(NSString *)marker range:(NSRange)range {
    (void)marker;
    SMTL_REQUIRE(range.location <= _length && range.length <= _length - range.location,
                 "-[MTLBuffer addDebugMarker:range:]", @"the range exceeds the buffer's length %lu",
                 (unsigned long)_length);
}

- (void)removeAllDebugMarkers {
}

@end
