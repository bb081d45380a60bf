#import "SMTLKernelCommands.h"

#import "SMTLIndirectCommandBuffer.h"
#include "SMTLLaunchCheck.h"
#import "framework/device/SMTLHandles.h"
#include "support/numbers.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM_SIZE 320

static const char *const functions[] = {
    [SMTL_COMMAND_SIZE] = "size of a command_buffer",
    [SMTL_COMMAND_SET_PIPELINE] = "set_compute_pipeline_state",
    [SMTL_COMMAND_SET_BUFFER] = "set_kernel_buffer",
    [SMTL_COMMAND_SET_THREADGROUP_MEMORY] = "set_threadgroup_memory_length",
    [SMTL_COMMAND_DISPATCH_THREADGROUPS] = "concurrent_dispatch_threadgroups",
    [SMTL_COMMAND_DISPATCH_THREADS] = "concurrent_dispatch_threads",
    [SMTL_COMMAND_SET_BARRIER] = "set_barrier",
    [SMTL_COMMAND_CLEAR_BARRIER] = "clear_barrier",
    [SMTL_COMMAND_RESET] = "reset",
    [SMTL_COMMAND_COPY] = "copy_command",
};

/* Runs on the stack of a kernel's thread: makes no object, and releases none. */
typedef struct {
    const smtl_launch *launch;
    smtl_command_request *request;
    SMTLIndirectCommandBuffer *buffer;
    smtl_command_code *code;
    char **problem;
} encoding;

__attribute__((format(printf, 2, 3))) static bool refuse(const encoding *encoding, const char *format, ...) {
    char text[PROBLEM_SIZE];
    const int start = smtl_snprintf(text, sizeof text, "command %u: %s: ", encoding->request->index,
                                    functions[encoding->request->operation]);
    va_list arguments;
    va_start(arguments, format);
    smtl_vsnprintf(text + start, sizeof text - (size_t)start, format, arguments);
    va_end(arguments);
    *encoding->problem = strdup(text);
    return false;
}

static bool set_pipeline(const encoding *encoding) {
    const uint64_t handle = encoding->request->value;
    if (handle == 0) return refuse(encoding, "the pipeline is null");
    const SMTLComputePipeline *pipeline = SMTLHandleFind(handle, SMTL_OBJECT_COMPUTE_PIPELINE);
    if (pipeline == nil) return refuse(encoding, "0x%llx is not a pipeline", (unsigned long long)handle);
    if (encoding->buffer->_inheritsPipeline)
        return refuse(encoding, "the indirect command buffer inherits the pipeline");
    if (pipeline->_device != encoding->buffer->_device)
        return refuse(encoding, "the pipeline belongs to another device");
    if (!pipeline->_supportsIndirect)
        return refuse(encoding, "the pipeline was not made with supportIndirectCommandBuffers");
    encoding->code->pipeline = handle;
    return true;
}

static bool set_buffer(const encoding *encoding) {
    const uint64_t address = encoding->request->value;
    const uint32_t index = encoding->request->at;
    const NSUInteger most = encoding->buffer->_maxBuffers;
    if (encoding->buffer->_inheritsBuffers) return refuse(encoding, "the indirect command buffer inherits the buffers");
    if (index >= most)
        return refuse(encoding, "index %u is not below maxKernelBufferBindCount %lu", index, (unsigned long)most);
    size_t length = address == 0 ? 0 : SMTL_UNKNOWN_LENGTH;
    for (uint32_t i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; i++) {
        const uint64_t start = (uintptr_t)encoding->launch->buffers[i], bytes = encoding->launch->buffer_lengths[i];
        if (start == 0 || address < start || address - start >= bytes || bytes == SMTL_UNKNOWN_LENGTH) continue;
        if (encoding->launch->inline_bytes >> i & 1)
            return refuse(encoding, "the address is that of bytes of the encoder (setBytes), which end with its "
                                    "command buffer");
        length = bytes - (address - start);
    }
    encoding->code->addresses[index] = address;
    encoding->code->lengths[index] = length;
    return true;
}

static bool set_threadgroup_memory(const encoding *encoding) {
    const uint64_t length = encoding->request->value;
    const uint32_t index = encoding->request->at;
    const NSUInteger most = encoding->buffer->_maxThreadgroupMemories;
    if (index >= most) {
        return refuse(encoding, "index %u is not below maxKernelThreadgroupMemoryBindCount %lu", index,
                      (unsigned long)most);
    }
    if (length % SMTL_THREADGROUP_MEMORY_UNIT != 0 || length > SMTL_MAX_THREADGROUP_MEMORY) {
        return refuse(encoding, "length %llu must be a multiple of %u bytes, and at most %u",
                      (unsigned long long)length, SMTL_THREADGROUP_MEMORY_UNIT, SMTL_MAX_THREADGROUP_MEMORY);
    }
    encoding->code->threadgroup_lengths[index] = (uint32_t)length;
    return true;
}

static bool dispatch(const encoding *encoding, MTLIndirectCommandType type) {
    const smtl_command_request *request = encoding->request;
    if ((encoding->buffer->_types & type) == 0)
        return refuse(encoding, "the indirect command buffer is not for this type of command");
    uint32_t grid[3];
    for (int i = 0; i < 3; i++) {
        const uint32_t scale =
            type == MTLIndirectCommandTypeConcurrentDispatch ? request->threads_per_threadgroup[i] : 1;
        if (__builtin_mul_overflow(request->grid[i], scale, &grid[i]))
            return refuse(encoding, "the grid has more than %u threads in a dimension", UINT32_MAX);
    }
    /* Of several threads that encode the same command, one comes first. */
    if (__atomic_exchange_n(&encoding->code->launches, 1, __ATOMIC_ACQ_REL) != 0)
        return refuse(encoding, "the command has its dispatch: it must be reset before it is encoded again");
    memcpy(encoding->code->threads_per_grid, grid, sizeof grid);
    memcpy(encoding->code->threads_per_threadgroup, request->threads_per_threadgroup,
           sizeof request->threads_per_threadgroup);
    return true;
}

/* What the destination could not have encoded, it cannot get by a copy either. */
static bool copy(const encoding *encoding) {
    const uint64_t handle = encoding->request->value;
    const uint32_t index = encoding->request->at;
    const SMTLIndirectCommandBuffer *to = encoding->buffer;
    const SMTLIndirectCommandBuffer *from = SMTLHandleFind(handle, SMTL_OBJECT_INDIRECT_COMMAND_BUFFER);
    if (from == nil)
        return refuse(encoding, "0x%llx, the source, is not an indirect command buffer", (unsigned long long)handle);
    if (index >= from->_count)
        return refuse(encoding, "the source's index %u is not below %lu", index, (unsigned long)from->_count);
    if (from->_device != to->_device) return refuse(encoding, "the source belongs to another device");
    if (from->_types != to->_types || from->_inheritsPipeline != to->_inheritsPipeline ||
        from->_inheritsBuffers != to->_inheritsBuffers || from->_maxBuffers != to->_maxBuffers ||
        from->_maxThreadgroupMemories != to->_maxThreadgroupMemories)
        return refuse(encoding, "the source's indirect command buffer was made with another descriptor");
    memmove(encoding->code, &from->_commands[index].code, sizeof *encoding->code);
    return true;
}

static bool encode(encoding *encoding) {
    smtl_command_request *request = encoding->request;
    if (request->commands == 0) return refuse(encoding, "the command_buffer is null");
    encoding->buffer = SMTLHandleFind(request->commands, SMTL_OBJECT_INDIRECT_COMMAND_BUFFER);
    if (encoding->buffer == nil)
        return refuse(encoding, "0x%llx is not an indirect command buffer", (unsigned long long)request->commands);
    request->result = encoding->buffer->_count;
    if (request->operation == SMTL_COMMAND_SIZE) return true;
    if (request->index >= encoding->buffer->_count) {
        return refuse(encoding, "the index is not below the indirect command buffer's %lu commands",
                      (unsigned long)encoding->buffer->_count);
    }
    encoding->code = &encoding->buffer->_commands[request->index].code;
    switch ((smtl_command_operation)request->operation) {
    case SMTL_COMMAND_SET_PIPELINE: return set_pipeline(encoding);
    case SMTL_COMMAND_SET_BUFFER: return set_buffer(encoding);
    case SMTL_COMMAND_SET_THREADGROUP_MEMORY: return set_threadgroup_memory(encoding);
    case SMTL_COMMAND_DISPATCH_THREADGROUPS: return dispatch(encoding, MTLIndirectCommandTypeConcurrentDispatch);
    case SMTL_COMMAND_DISPATCH_THREADS: return dispatch(encoding, MTLIndirectCommandTypeConcurrentDispatchThreads);
    case SMTL_COMMAND_SET_BARRIER:
    case SMTL_COMMAND_CLEAR_BARRIER:
        encoding->code->barrier = request->operation == SMTL_COMMAND_SET_BARRIER;
        return true;
    case SMTL_COMMAND_RESET: memset(encoding->code, 0, sizeof *encoding->code); return true;
    case SMTL_COMMAND_COPY: return copy(encoding);
    case SMTL_COMMAND_SIZE: break;
    }
    return true;
}

bool SMTLEncodeKernelCommand(const smtl_launch *launch, smtl_command_request *request, char **problem) {
    encoding encoding = {.launch = launch, .request = request, .problem = problem};
    SMTLHandlesLock();
    const bool encoded = encode(&encoding);
    SMTLHandlesUnlock();
    return encoded;
}

SMTLComputePipeline *SMTLRetainPipelineOfHandle(uint64_t handle) {
    SMTLHandlesLock();
    SMTLComputePipeline *pipeline = SMTLHandleFind(handle, SMTL_OBJECT_COMPUTE_PIPELINE);
    if (![pipeline retainIfAlive]) pipeline = nil;
    SMTLHandlesUnlock();
    return pipeline;
}
