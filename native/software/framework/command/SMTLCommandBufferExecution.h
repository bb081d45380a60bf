/* A committed command buffer's way through the queue's threads. */
#ifndef SMTL_COMMAND_BUFFER_EXECUTION_H
#define SMTL_COMMAND_BUFFER_EXECUTION_H

#import "SMTLCommandBuffer.h"

/* Executes the command buffer that `work` is embedded in, and releases it. */
void SMTLExecuteCommandBuffer(smtl_work *work);

@interface SMTLCommandBuffer (Execution)
- (void)execute;
/* `aside`: on a thread that has stepped aside for it. */
- (void)finishAside:(bool)aside;
- (void)callScheduledHandlers;
@end

#endif
