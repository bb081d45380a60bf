#include "SMTLExecutor.h"

#include "../engine/engine.h"
#import "SMTLBuffer.h"
#include "SMTLCounts.h"
#import "SMTLEvent.h"
#import <Metal/MTLCommandBuffer.h>
#include <stdlib.h>
#include <string.h>

/* Bindings last from one dispatch to the next and end with their encoder. */
static void begin_encoder(smtl_dispatch *state)
{
    memset(state, 0, sizeof *state);
}

static bool fail(smtl_execution *execution, NSUInteger code, char *message)
{
    execution->error_code = code;
    execution->error_message = message;
    return false;
}

static bool run_dispatch(smtl_dispatch *state, const uint32_t grid[3], const uint32_t group[3],
                         smtl_execution *execution)
{
    memcpy(state->threads_per_grid, grid, sizeof state->threads_per_grid);
    memcpy(state->threads_per_threadgroup, group, sizeof state->threads_per_threadgroup);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) {
        return true;
    }
    char *message = NULL;
    if (!smtl_dispatch_run(state, &message)) {
        return fail(execution, MTLCommandBufferErrorInternal, message);
    }
    smtl_count_dispatches(1);
    return true;
}

static bool run_indirect(smtl_dispatch *state, const smtl_record_dispatch_indirect *command, smtl_execution *execution)
{
    uint32_t grid[3];
    for (int i = 0; i < 3; i++) {
        uint64_t threads = (uint64_t)command->threadgroups_per_grid[i] * command->threads_per_threadgroup[i];
        if (threads > UINT32_MAX) {
            return fail(execution, MTLCommandBufferErrorPageFault, strdup("indirect dispatch: the grid is too large"));
        }
        grid[i] = (uint32_t)threads;
    }
    return run_dispatch(state, grid, command->threads_per_threadgroup, execution);
}

/* False ends the command buffer, with the reason in `execution`. */
static bool run_record(smtl_record *record, smtl_dispatch *state, smtl_execution *execution)
{
    switch ((smtl_op)record->op) {
    case SMTL_OP_BEGIN_ENCODER:
        begin_encoder(state);
        execution->encoder++;
        return true;
    case SMTL_OP_SET_KERNEL:
        state->kernel = ((const smtl_set_kernel *)record)->kernel;
        return true;
    case SMTL_OP_SET_BUFFER: {
        const smtl_set_buffer *command = (const smtl_set_buffer *)record;
        state->buffers[record->index] = command->address;
        state->buffer_lengths[record->index] = command->length;
        return true;
    }
    case SMTL_OP_SET_BYTES: {
        smtl_set_bytes *command = (smtl_set_bytes *)record;
        state->buffers[record->index] = command->bytes;
        state->buffer_lengths[record->index] = command->length;
        return true;
    }
    case SMTL_OP_SET_THREADGROUP_MEMORY:
        state->threadgroup_lengths[record->index] = ((const smtl_set_threadgroup_memory *)record)->length;
        return true;
    case SMTL_OP_DISPATCH: {
        const smtl_record_dispatch *command = (const smtl_record_dispatch *)record;
        return run_dispatch(state, command->threads_per_grid, command->threads_per_threadgroup, execution);
    }
    case SMTL_OP_DISPATCH_INDIRECT:
        return run_indirect(state, (const smtl_record_dispatch_indirect *)record, execution);
    case SMTL_OP_COPY: {
        const smtl_record_copy *command = (const smtl_record_copy *)record;
        memcpy(command->destination, command->source, command->size);
        return true;
    }
    case SMTL_OP_FILL: {
        const smtl_record_fill *command = (const smtl_record_fill *)record;
        memset(command->destination, command->value, command->size);
        return true;
    }
    case SMTL_OP_SYNCHRONIZE:
        [((const smtl_record_synchronize *)record)->buffer copyToCPU];
        return true;
    case SMTL_OP_SIGNAL_EVENT: {
        const smtl_record_event *command = (const smtl_record_event *)record;
        [command->event signalValue:command->value];
        return true;
    }
    case SMTL_OP_WAIT_EVENT: {
        const smtl_record_event *command = (const smtl_record_event *)record;
        [command->event waitForValue:command->value];
        return true;
    }
    }
    return fail(execution, MTLCommandBufferErrorInternal, strdup("the command stream is damaged"));
}

void smtl_execute(const smtl_stream *stream, smtl_execution *execution)
{
    smtl_dispatch state;
    begin_encoder(&state);
    for (smtl_chunk *chunk = stream->first; chunk != NULL; chunk = chunk->next) {
        for (size_t offset = 0; offset < chunk->used;) {
            smtl_record *record = (smtl_record *)(chunk->bytes + offset);
            if (!run_record(record, &state, execution)) {
                return;
            }
            offset += record->size;
        }
    }
}
