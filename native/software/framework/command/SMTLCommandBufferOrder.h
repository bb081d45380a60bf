/* The order in which a queue's command buffers execute: that of their enqueueing. */
#ifndef SMTL_COMMAND_BUFFER_ORDER_H
#define SMTL_COMMAND_BUFFER_ORDER_H

#import "SMTLCommandBuffer.h"

/* Gives every command buffer that is next in order to the queue's thread. The caller holds the queue's mutex. */
void SMTLHandOver(smtl_queue_core *core);

@interface SMTLCommandBuffer (Order)
/* Appends the command buffer to the queue's order. The caller holds the queue's mutex. */
- (void)joinQueue;
/* Removes an enqueued command buffer that goes without a commit, so that it does not hold up those behind it. */
- (void)leaveQueue;
@end

#endif
