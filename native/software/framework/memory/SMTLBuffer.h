#ifndef SMTL_BUFFER_H
#define SMTL_BUFFER_H

#include "SMTLMemory.h"
#import "SMTLResource.h"
#import <Metal/MTLBuffer.h>

@class SMTLHeap;

@interface SMTLBuffer : SMTLResource <MTLBuffer> {
@public
    NSUInteger _length;
    uint8_t *_device_bytes; /* what kernels and blits see */
    uint8_t *_cpu_bytes;    /* what contents returns: another copy for managed storage, NULL for private */
    /* Serial number of the last command buffer that retained this buffer: saves it from retaining once per use. */
    uint64_t _retained_by;
    smtl_memory _memory;         /* owned: the device's bytes, or nothing */
    smtl_memory _managed_memory; /* owned: the CPU's copy of a managed buffer, or nothing */
    void (^_deallocator)(void *pointer, NSUInteger length);
    SMTLHeap *_heap; /* retained */
    NSUInteger _heap_offset;
    BOOL _aliasable;
    SMTLBuffer *_remote; /* retained: the buffer whose memory this one shows to another device */
    smtl_watched *_watched; /* the kernel sanitizer's notes on the device's bytes; owned if not in `_memory` */
}
/* Each returns nil if memory runs out or a failure is injected. `bytes` may be NULL. */
- (instancetype)initWithDevice:(SMTLDevice *)device
                         bytes:(const void *)bytes
                        length:(NSUInteger)length
                       options:(MTLResourceOptions)options;
- (instancetype)initWithDevice:(SMTLDevice *)device
                   noCopyBytes:(void *)bytes
                        length:(NSUInteger)length
                       options:(MTLResourceOptions)options
                   deallocator:(void (^)(void *pointer, NSUInteger length))deallocator;
- (instancetype)initWithHeap:(SMTLHeap *)heap
                       bytes:(uint8_t *)bytes
                     watched:(smtl_watched *)watched
                      offset:(NSUInteger)offset
                      length:(NSUInteger)length
                     options:(MTLResourceOptions)options;
- (instancetype)initWithRemote:(SMTLBuffer *)remote device:(SMTLDevice *)device;
/* The GPU's side of synchronizeResource:. */
- (void)copyToCPU;
@end

/* The class behind an id<MTLBuffer> of `device`; raises for nil, for another device's, and for a remote view. */
SMTLBuffer *SMTLCheckBuffer(const char *where, id<MTLBuffer> buffer, SMTLDevice *device);
/* The same for what a blit reads, which may be a remote view. */
SMTLBuffer *SMTLCheckBlitSource(const char *where, id<MTLBuffer> buffer, SMTLDevice *device);

#endif
