/* Who receives what kernels log. */
#ifndef SMTL_LOG_STATE_H
#define SMTL_LOG_STATE_H

#include "engine/log.h"
#import "support/SMTLObject.h"
#import <Metal/MTLLogState.h>

@interface SMTLLogState : SMTLObject <MTLLogState> {
@public
    size_t _bufferSize;
@protected
    MTLLogLevel _level; /* less is not wanted */
    void **_handlers;   /* blocks; guarded by @synchronized */
    NSUInteger _handlerCount;
}
/* nil and an error for an impossible size. */
- (instancetype)initWithLevel:(MTLLogLevel)level bufferSize:(NSInteger)size error:(NSError **)error;
/* To the handlers, or to the standard error stream if there are none. */
- (void)deliver:(const struct smtl_log_buffer *)buffer;
@end

/* What the environment asks for (MTL_LOG_LEVEL, MTL_LOG_BUFFER_SIZE) for queues that have none; nil if it does not.
 */
SMTLLogState *SMTLEnvironmentLogState(void);

#endif
