/* Commands that a C function on the host executes, in order with the others: for libraries of ready-made work,
 * which build on the framework. */
#ifndef SMTL_HOST_COMMAND_H
#define SMTL_HOST_COMMAND_H

#import "SMTLCommandEncoder.h"
#import "framework/memory/SMTLBuffer.h"

/* Bytes of a buffer that a command uses. */
typedef struct {
    SMTLBuffer *buffer;
    NSUInteger offset;
    NSUInteger length;
    BOOL writes;
} SMTLHostAccess;

/* Appends a call of `run` with a copy of `argument`, `size` bytes. The command buffer keeps the buffers until it has
 * finished, whether or not it retains what else it uses: a caller may make one for the command alone. */
void SMTLRecordHostCommand(SMTLCommandEncoder *encoder, const char *where, smtl_host_function run, const void *argument,
                           size_t size, const SMTLHostAccess *accesses, NSUInteger count);

#endif
