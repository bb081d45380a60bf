#import "SMTLHeap.h"

#import "SMTLBuffer.h"
#import "support/SMTLError.h"
#include "support/SMTLInjection.h"
#include <stdlib.h>
#include <string.h>

/* A length that cannot be rounded is more than any memory has. */
static NSUInteger rounded_up(NSUInteger length) {
    const NSUInteger unit = SMTL_MEMORY_ALIGNMENT;
    return length > NSUIntegerMax - unit ? length : (length + unit - 1) / unit * unit;
}

@implementation SMTLHeap

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_HEAP;
}

- (instancetype)initWithDevice:(SMTLDevice *)device descriptor:(MTLHeapDescriptor *)descriptor {
    const char *where = "-[MTLDevice newHeapWithDescriptor:]";
    self = [super init];
    _device = device;
    /* A heap may be larger than its descriptor says. Blocks of whole units leave no rest that no buffer fits into. */
    _size = rounded_up([descriptor size]);
    _type = [descriptor type];
    pthread_mutex_init(&_mutex, NULL);
    @try {
        SMTL_REQUIRE(_size > 0, where, @"the heap's size must not be 0");
        SMTL_REQUIRE(_type == MTLHeapTypeAutomatic || _type == MTLHeapTypePlacement, where,
                     @"heap type %ld is not supported", (long)_type);
        SMTL_REQUIRE([descriptor storageMode] != MTLStorageModeManaged, where,
                     @"a heap's storage must be shared or private");
        _options = SMTLResolveOptions(where, [descriptor resourceOptions], true);
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    if (_size > NSUIntegerMax / 2 || smtl_allocation_must_fail() ||
        !SMTLDeviceTakeMemory(device, smtl_memory_reserved(_size), true)) {
        [self release];
        return nil;
    }
    bool allocated = smtl_memory_allocate_divisible(&_memory, _size);
    if (!allocated) {
        SMTLDeviceGiveMemory(device, smtl_memory_reserved(_size), true);
    } else if (_type == MTLHeapTypeAutomatic) {
        _blocks = calloc(1, sizeof *_blocks);
        if (_blocks != NULL) _blocks->size = _size;
    }
    if (!allocated || (_type == MTLHeapTypeAutomatic && _blocks == NULL)) {
        [self release];
        return nil;
    }
    return self;
}

- (void)dealloc {
    while (_blocks != NULL) {
        smtl_heap_block *next = _blocks->next;
        free(_blocks);
        _blocks = next;
    }
    if (_memory.base != NULL) {
        size_t size = _memory.size;
        smtl_memory_free(&_memory);
        SMTLDeviceGiveMemory(_device, size, true);
    }
    pthread_mutex_destroy(&_mutex);
    [super dealloc];
}

/* Takes the first free block that fits; false if none does. The caller holds the lock. */
static bool take_block(smtl_heap_block *blocks, NSUInteger size, NSUInteger *offset) {
    for (smtl_heap_block *block = blocks; block != NULL; block = block->next) {
        if (block->used || block->size < size) continue;
        if (block->size > size) {
            smtl_heap_block *rest = calloc(1, sizeof *rest);
            if (rest == NULL) return false;
            rest->next = block->next;
            rest->offset = block->offset + size;
            rest->size = block->size - size;
            block->next = rest;
            block->size = size;
        }
        block->used = true;
        *offset = block->offset;
        return true;
    }
    return false;
}

/* Frees the block at `offset`, joins it with free neighbours and returns its size. The caller holds the lock. */
static NSUInteger free_block(smtl_heap_block *blocks, NSUInteger offset) {
    NSUInteger size = 0;
    smtl_heap_block *previous = NULL;
    for (smtl_heap_block *block = blocks; block != NULL; previous = block, block = block->next) {
        if (block->offset != offset || !block->used) continue;
        size = block->size;
        block->used = false;
        smtl_heap_block *next = block->next;
        if (next != NULL && !next->used) {
            block->size += next->size;
            block->next = next->next;
            free(next);
        }
        if (previous != NULL && !previous->used) {
            previous->size += block->size;
            previous->next = block->next;
            free(block);
        }
        break;
    }
    return size;
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    const char *where = "-[MTLHeap newBufferWithLength:options:]";
    SMTL_REQUIRE(_type == MTLHeapTypeAutomatic, where, @"a placement heap needs an offset");
    options = [self checkOptions:options where:where];
    if (length == 0 || length > _size || smtl_allocation_must_fail()) return nil;
    NSUInteger offset = 0;
    NSUInteger size = rounded_up(length);
    pthread_mutex_lock(&_mutex);
    bool taken = take_block(_blocks, size, &offset);
    if (taken) _used += size;
    pthread_mutex_unlock(&_mutex);
    if (!taken) return nil;
    return [self newBufferAtOffset:offset length:length options:options];
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options offset:(NSUInteger)offset {
    const char *where = "-[MTLHeap newBufferWithLength:options:offset:]";
    SMTL_REQUIRE(_type == MTLHeapTypePlacement, where, @"only a placement heap takes an offset");
    options = [self checkOptions:options where:where];
    SMTL_REQUIRE(offset % SMTL_MEMORY_ALIGNMENT == 0, where, @"offset %lu must be a multiple of %u",
                 (unsigned long)offset, SMTL_MEMORY_ALIGNMENT);
    SMTL_REQUIRE(offset <= _size && length <= _size - offset, where, @"%lu bytes at offset %lu exceed the heap's %lu",
                 (unsigned long)length, (unsigned long)offset, (unsigned long)_size);
    if (length == 0 || smtl_allocation_must_fail()) return nil;
    /* Buffers that share bytes count each with all of theirs. */
    pthread_mutex_lock(&_mutex);
    _used += rounded_up(length);
    pthread_mutex_unlock(&_mutex);
    return [self newBufferAtOffset:offset length:length options:options];
}

- (id<MTLBuffer>)newBufferAtOffset:(NSUInteger)offset length:(NSUInteger)length options:(MTLResourceOptions)options {
    smtl_watched *part = NULL;
    if (_memory.watched != NULL) {
        part = smtl_sanitizer_allocate_part(_memory.watched, offset, length, _type == MTLHeapTypeAutomatic);
        if (part == NULL) {
            [self giveBackOffset:offset length:length aliased:NO];
            return nil;
        }
    }
    return [[SMTLBuffer alloc] initWithHeap:self bytes:(uint8_t *)_memory.base + offset watched:part offset:offset
                                     length:length
                                    options:options];
}

- (MTLResourceOptions)checkOptions:(MTLResourceOptions)options where:(const char *)where {
    if ((options & MTLResourceHazardTrackingModeMask) == MTLResourceHazardTrackingModeDefault)
        options |= _options & MTLResourceHazardTrackingModeMask;
    options = SMTLResolveOptions(where, options, true);
    SMTL_REQUIRE(SMTLStorageModeOf(options) == SMTLStorageModeOf(_options), where,
                 @"storage mode %lu differs from the heap's %lu", (unsigned long)SMTLStorageModeOf(options),
                 (unsigned long)SMTLStorageModeOf(_options));
    /* Metal ignores the cache mode of private memory. */
    const bool is_private = SMTLStorageModeOf(options) == MTLStorageModePrivate;
    SMTL_REQUIRE(is_private || SMTLCacheModeOf(options) == SMTLCacheModeOf(_options), where,
                 @"CPU cache mode %lu differs from the heap's %lu", (unsigned long)SMTLCacheModeOf(options),
                 (unsigned long)SMTLCacheModeOf(_options));
    SMTL_REQUIRE(SMTLHazardTrackingModeOf(options) == MTLHazardTrackingModeUntracked ||
                     SMTLHazardTrackingModeOf(_options) == MTLHazardTrackingModeTracked,
                 where, @"a heap that is not tracked holds no tracked resource");
    return options;
}

- (void)makeAliasableAtOffset:(NSUInteger)offset {
    if (_type == MTLHeapTypeAutomatic) {
        pthread_mutex_lock(&_mutex);
        _used -= free_block(_blocks, offset);
        pthread_mutex_unlock(&_mutex);
    }
}

- (void)giveBackOffset:(NSUInteger)offset length:(NSUInteger)length aliased:(BOOL)aliased {
    if (_type == MTLHeapTypePlacement) {
        pthread_mutex_lock(&_mutex);
        _used -= rounded_up(length);
        pthread_mutex_unlock(&_mutex);
    } else if (!aliased) {
        [self makeAliasableAtOffset:offset];
    }
}

- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
    SMTL_REQUIRE((alignment & (alignment - 1)) == 0, "-[MTLHeap maxAvailableSizeWithAlignment:]",
                 @"alignment %lu is not a power of two", (unsigned long)alignment);
    NSUInteger largest = 0;
    pthread_mutex_lock(&_mutex);
    for (const smtl_heap_block *block = _blocks; block != NULL; block = block->next) {
        NSUInteger skipped = alignment == 0 ? 0 : -block->offset & (alignment - 1);
        if (!block->used && block->size > skipped && block->size - skipped > largest) largest = block->size - skipped;
    }
    pthread_mutex_unlock(&_mutex);
    return largest;
}

- (NSUInteger)usedSize {
    pthread_mutex_lock(&_mutex);
    NSUInteger used = _used;
    pthread_mutex_unlock(&_mutex);
    return used;
}

- (NSUInteger)size {
    return _size;
}

- (NSUInteger)currentAllocatedSize {
    return _memory.size;
}

- (NSUInteger)allocatedSize {
    return _memory.size;
}

- (MTLHeapType)type {
    return _type;
}

@end
