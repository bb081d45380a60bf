#import "SMTLCommandBufferLists.h"

#include "objc_runtime/SMTLBlocks.h"
#include <stdlib.h>

/* `array` with room for one more element. */
static void *grow(void *array, NSUInteger count, NSUInteger *capacity, size_t element) {
    if (count < *capacity) return array;
    NSUInteger larger = *capacity == 0 ? 16 : *capacity * 2;
    void *grown = realloc(array, larger * element);
    if (grown == NULL)
        [NSException raise:NSMallocException format:@"no memory for a command buffer's list of %lu", larger];
    *capacity = larger;
    return grown;
}

void SMTLRetainedAdd(smtl_retained *retained, id object) {
    retained->objects = grow(retained->objects, retained->count, &retained->capacity, sizeof(id));
    retained->objects[retained->count++] = [object retain];
}

void SMTLHandlersAdd(smtl_handlers *handlers, MTLCommandBufferHandler block) {
    handlers->blocks = grow(handlers->blocks, handlers->count, &handlers->capacity, sizeof *handlers->blocks);
    handlers->blocks[handlers->count++] = SMTLCopyBlock(block);
}

void SMTLHandlersCall(const smtl_handlers *handlers, id<MTLCommandBuffer> buffer) {
    for (NSUInteger i = 0; i < handlers->count; i++) {
        @autoreleasepool {
            @try {
                handlers->blocks[i](buffer);
            } @catch (id exception) {
                /* One handler's exception must not harm the other handlers and the waiters. */
                NSLog(@"software Metal: uncaught exception in a command buffer's handler: %@", exception);
            }
        }
    }
}

void SMTLRetainedClear(smtl_retained *retained) {
    for (NSUInteger i = 0; i < retained->count; i++) [retained->objects[i] release];
    free(retained->objects);
    *retained = (smtl_retained){0};
}

void SMTLHandlersClear(smtl_handlers *handlers) {
    for (NSUInteger i = 0; i < handlers->count; i++) Block_release(handlers->blocks[i]);
    free(handlers->blocks);
    *handlers = (smtl_handlers){0};
}
