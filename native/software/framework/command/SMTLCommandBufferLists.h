/* What a command buffer holds until it has finished: objects that it retains, and handlers that it is to call. */
#ifndef SMTL_COMMAND_BUFFER_LISTS_H
#define SMTL_COMMAND_BUFFER_LISTS_H

#import <Metal/MTLCommandBuffer.h>

typedef struct {
    id *objects;
    NSUInteger count;
    NSUInteger capacity;
} smtl_retained;

/* In the order added. */
typedef struct {
    MTLCommandBufferHandler *blocks;
    NSUInteger count;
    NSUInteger capacity;
} smtl_handlers;

/* Raise if memory runs out. */
void SMTLRetainedAdd(smtl_retained *retained, id object);
void SMTLHandlersAdd(smtl_handlers *handlers, MTLCommandBufferHandler block);
/* An exception of one does not keep the others from being called. */
void SMTLHandlersCall(const smtl_handlers *handlers, id<MTLCommandBuffer> buffer);
/* Release what is in the list, which can be filled again. */
void SMTLRetainedClear(smtl_retained *retained);
void SMTLHandlersClear(smtl_handlers *handlers);

#endif
