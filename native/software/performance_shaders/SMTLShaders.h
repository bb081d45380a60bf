/* What the classes of Metal Performance Shaders share: the framework's objects behind the protocols, regions of buffers
 * as tensors, and work recorded in command buffers. */
#ifndef SMTL_SHADERS_H
#define SMTL_SHADERS_H

#include "compute/tensor.h"
#import "framework/command/SMTLHostCommand.h"
#import "support/SMTLError.h"
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

/* A part of a buffer as a tensor, whose address is left out until the buffer is checked. */
typedef struct {
    id<MTLBuffer> buffer;
    NSUInteger offset;
    smtl_tensor tensor;
} SMTLRegion;

/* The command buffer of `device` behind the protocol or behind an MPSCommandBuffer; raises for nil and for another
 * device's.
 */
SMTLCommandBuffer *SMTLCheckCommandBuffer(const char *where, id<MTLCommandBuffer> commandBuffer, id<MTLDevice> device);

/* The name of a type, for messages. */
NSString *SMTLNameOfType(MPSDataType type);

/* Bytes from the first element of the tensor to the end of its last; 0 if it has none. */
NSUInteger SMTLTensorExtent(const smtl_tensor *tensor);

/* The region as the command sees it; checks that it lies in its buffer. */
SMTLHostAccess SMTLAccessRegion(const char *where, SMTLRegion *region, SMTLDevice *device, BOOL writes);

/* Records one command by itself, with an encoder for it alone. */
void SMTLEncodeHostCommand(SMTLCommandBuffer *commandBuffer, const char *where, smtl_host_function run,
                           const void *argument, size_t size, const SMTLHostAccess *accesses, NSUInteger count);

/* Synchronises a managed buffer. */
void SMTLSynchronize(const char *where, id<MTLBuffer> buffer, id<MTLCommandBuffer> commandBuffer, id<MTLDevice> device);

#endif
