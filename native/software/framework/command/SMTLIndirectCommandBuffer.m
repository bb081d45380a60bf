#import "SMTLIndirectCommandBuffer.h"

#import "SMTLIndirectCommand.h"
#import "SMTLLaunchCheck.h"
#import "framework/device/SMTLHandles.h"
#import "framework/memory/SMTLBuffer.h"
#import "support/SMTLError.h"
#include "support/SMTLInjection.h"
#include <stdlib.h>
#include <string.h>

SMTLIndirectCommandBuffer *SMTLCheckIndirectCommands(const char *where, id<MTLIndirectCommandBuffer> buffer,
                                                     NSRange range, SMTLDevice *device) {
    SMTL_REQUIRE(buffer != nil, where, @"the indirect command buffer must not be nil");
    SMTLIndirectCommandBuffer *own = (SMTLIndirectCommandBuffer *)buffer;
    SMTL_REQUIRE(own->_device == device, where, @"the indirect command buffer belongs to another device");
    SMTL_REQUIRE(range.location <= own->_count && range.length <= own->_count - range.location, where,
                 @"commands {%lu, %lu} exceed the indirect command buffer's %lu", (unsigned long)range.location,
                 (unsigned long)range.length, (unsigned long)own->_count);
    return own;
}

const char *SMTLPrepareIndirectCommand(const SMTLIndirectCommandBuffer *buffer, const smtl_command_code *command,
                                       const SMTLComputePipeline *pipeline, const smtl_launch *bindings,
                                       smtl_launch *launch) {
    if (pipeline == nil) return "no compute pipeline state is set";
    if (buffer->_inheritsBuffers) {
        if (SMTLTakesTableForMemory(pipeline, bindings->buffer_lengths))
            return "a visible function table is bound where the kernel takes a buffer";
        *launch = *bindings;
        /* Threadgroup memory is not a buffer: the command's stands before the encoder's. */
        for (NSUInteger i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; i++)
            if (command->threadgroup_lengths[i] > 0) launch->threadgroup_lengths[i] = command->threadgroup_lengths[i];
    } else {
        memset(launch, 0, sizeof *launch);
        for (NSUInteger i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; i++) {
            launch->buffers[i] = (void *)(uintptr_t)command->addresses[i];
            launch->buffer_lengths[i] = command->lengths[i];
        }
        memcpy(launch->threadgroup_lengths, command->threadgroup_lengths, sizeof launch->threadgroup_lengths);
    }
    launch->kernel = pipeline->_kernel;
    memcpy(launch->threads_per_grid, command->threads_per_grid, sizeof launch->threads_per_grid);
    memcpy(launch->threads_per_threadgroup, command->threads_per_threadgroup, sizeof launch->threads_per_threadgroup);
    const uint32_t *threads = command->threads_per_threadgroup;
    const MTLSize group = MTLSizeMake(threads[0], threads[1], threads[2]);
    if (!SMTLThreadgroupFits(group, pipeline->_maxThreads))
        return "threadsPerThreadgroup has more threads than the pipeline takes";
    return SMTLIsRequiredThreadgroup(pipeline, group) ? NULL
                                                      : "threadsPerThreadgroup is not what the pipeline requires";
}

static void release_command(smtl_indirect_command *command) {
    [command->pipeline release];
    for (NSUInteger i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; i++) [command->buffers[i] release];
    memset(command, 0, sizeof *command);
}

static void retain_command(const smtl_indirect_command *command) {
    [command->pipeline retain];
    for (NSUInteger i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; i++) [command->buffers[i] retain];
}

@implementation SMTLIndirectCommandBuffer

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_INDIRECT_COMMAND_BUFFER;
}

- (void)takeDescriptor:(MTLIndirectCommandBufferDescriptor *)descriptor {
    const char *where = "-[MTLDevice newIndirectCommandBufferWithDescriptor:maxCommandCount:options:]";
    const NSUInteger launches =
        MTLIndirectCommandTypeConcurrentDispatch | MTLIndirectCommandTypeConcurrentDispatchThreads;
    _types = [descriptor commandTypes];
    _inheritsPipeline = [descriptor inheritPipelineState];
    _inheritsBuffers = [descriptor inheritBuffers];
    _maxBuffers = [descriptor maxKernelBufferBindCount];
    _maxThreadgroupMemories = [descriptor maxKernelThreadgroupMemoryBindCount];
    SMTL_REQUIRE(_types != 0 && (_types & ~launches) == 0, where,
                 @"command types 0x%lx are not those of a compute encoder", (unsigned long)_types);
    SMTL_REQUIRE(_maxBuffers <= SMTL_MAX_BUFFER_ARGUMENTS && _maxThreadgroupMemories <= SMTL_MAX_BUFFER_ARGUMENTS,
                 where, @"a kernel has at most %u buffers and threadgroup memories", SMTL_MAX_BUFFER_ARGUMENTS);
    SMTL_REQUIRE(_count > 0, where, @"maxCommandCount must not be 0");
}

- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLIndirectCommandBufferDescriptor *)descriptor
                         count:(NSUInteger)count
                       options:(MTLResourceOptions)options {
    self = [super init];
    _device = device;
    _count = count;
    _options = options;
    @try {
        [self takeDescriptor:descriptor];
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    if (!smtl_allocation_must_fail()) _commands = calloc(count, sizeof *_commands);
    if (_commands == NULL || !SMTLDeviceTakeMemory(device, [self allocatedSize], true)) {
        free(_commands);
        _commands = NULL;
        [self release];
        return nil;
    }
    _handle = SMTLHandleCreate(self);
    return self;
}

- (void)dealloc {
    SMTLHandleEnd(_handle);
    if (_commands != NULL) {
        [self resetCommands:NSMakeRange(0, _count)];
        SMTLDeviceGiveMemory(_device, [self allocatedSize], true);
        free(_commands);
    }
    [super dealloc];
}

- (void)resetCommands:(NSRange)range {
    for (NSUInteger i = 0; i < range.length; i++) release_command(&_commands[range.location + i]);
}

- (void)copyCommands:(NSRange)range from:(SMTLIndirectCommandBuffer *)source to:(NSUInteger)index {
    /* Retained first: the ranges may be of one buffer, though they do not overlap. */
    for (NSUInteger i = 0; i < range.length; i++) {
        const smtl_indirect_command *from = &source->_commands[range.location + i];
        retain_command(from);
        release_command(&_commands[index + i]);
        _commands[index + i] = *from;
    }
}

- (void)resetWithRange:(NSRange)range {
    SMTLCheckIndirectCommands("-[MTLIndirectCommandBuffer resetWithRange:]", self, range, _device);
    [self resetCommands:range];
}

- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)commandIndex {
    SMTLCheckIndirectCommands("-[MTLIndirectCommandBuffer indirectComputeCommandAtIndex:]", self,
                              NSMakeRange(commandIndex, 1), _device);
    return [[[SMTLIndirectCommand alloc] initWithBuffer:self index:commandIndex] autorelease];
}

- (NSUInteger)size {
    return _count;
}

- (MTLResourceID)gpuResourceID {
    MTLResourceID identifier = {_handle};
    return identifier;
}

- (NSUInteger)allocatedSize {
    return _count * sizeof *_commands;
}

- (id<MTLHeap>)heap {
    return nil;
}

- (NSUInteger)heapOffset {
    return 0;
}

- (void)makeAliasable {
    SMTLRaise("-[MTLResource makeAliasable]", @"an indirect command buffer does not come from a heap");
}

- (BOOL)isAliasable {
    return NO;
}

@end
