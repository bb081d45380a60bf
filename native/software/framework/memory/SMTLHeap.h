#ifndef SMTL_HEAP_H
#define SMTL_HEAP_H

#include "SMTLMemory.h"
#import "SMTLResource.h"
#import <Metal/MTLHeap.h>
#include <pthread.h>

/* One block of a heap: free, or used by a buffer. Blocks cover an automatic heap without gaps, in order of offset. */
typedef struct smtl_heap_block {
    struct smtl_heap_block *next;
    NSUInteger offset;
    NSUInteger size;
    bool used;
} smtl_heap_block;

@interface SMTLHeap : SMTLResource <MTLHeap> {
@protected
    NSUInteger _size;
    MTLHeapType _type;
    smtl_memory _memory;
    pthread_mutex_t _mutex;
    smtl_heap_block *_blocks; /* automatic heaps only */
    NSUInteger _used;
}
- (instancetype)initWithDevice:(SMTLDevice *)device descriptor:(MTLHeapDescriptor *)descriptor;
/* Called by buffers: the block's bytes may be reused, when the buffer goes or, before that, when it says so. */
- (void)giveBackOffset:(NSUInteger)offset length:(NSUInteger)length aliased:(BOOL)aliased;
- (void)makeAliasableAtOffset:(NSUInteger)offset;
@end

#endif
