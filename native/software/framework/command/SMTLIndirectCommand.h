#ifndef SMTL_INDIRECT_COMMAND_H
#define SMTL_INDIRECT_COMMAND_H

#import "SMTLIndirectCommandBuffer.h"

/* Encodes one command of an indirect command buffer. */
@interface SMTLIndirectCommand : SMTLObject <MTLIndirectComputeCommand> {
    SMTLIndirectCommandBuffer *_buffer; /* retained */
    smtl_indirect_command *_command;
}
- (instancetype)initWithBuffer:(SMTLIndirectCommandBuffer *)buffer index:(NSUInteger)index;
@end

#endif
