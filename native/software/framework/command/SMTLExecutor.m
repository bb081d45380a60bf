#include "SMTLExecutor.h"

#include "SMTLBlitGroup.h"
#import "SMTLIndirectCommandBuffer.h"
#import "SMTLKernelCommands.h"
#include "engine/engine.h"
#import "framework/device/SMTLCounterSampleBuffer.h"
#import "framework/library/SMTLComputePipeline.h"
#import "framework/memory/SMTLBuffer.h"
#import "framework/sync/SMTLEvent.h"
#include "support/statistics.h"
#include "support/clock.h"
#include "support/delay.h"
#include "support/link.h"
#include "support/numbers.h"
#include "support/random.h"
#include "support/settings.h"
#import <Metal/MTLCommandBuffer.h>
#include <stdlib.h>
#include <string.h>

/* Launches of a concurrent encoder that wait for the next barrier, when their order is to be shuffled. */
typedef struct {
    smtl_launch *launches;
    size_t count;
    size_t capacity;
    uint64_t random;
} smtl_unordered;

typedef struct {
    smtl_launch bindings; /* last from one launch to the next and end with their encoder, as the pipeline does */
    const SMTLComputePipeline *pipeline;
    bool shuffled;          /* the present encoder's launches are */
    smtl_unordered unordered;
    smtl_blit_group *blits; /* that have not been executed */
    NSMutableArray *pipelines; /* of commands that kernels have encoded, each once: they live until all has run */
    smtl_execution *execution;
} smtl_replay;

static bool fail(smtl_execution *execution, NSUInteger code, char *message) {
    execution->error_code = code;
    execution->error_message = message;
    return false;
}

static bool run_now(const smtl_launch *launch, smtl_execution *execution) {
    static const NSUInteger codes[] = {
        [SMTL_FAILURE_ARGUMENTS] = MTLCommandBufferErrorInvalidResource,
        [SMTL_FAILURE_MEMORY] = MTLCommandBufferErrorOutOfMemory,
        [SMTL_FAILURE_ACCESS] = MTLCommandBufferErrorPageFault,
        [SMTL_FAILURE_STACK] = MTLCommandBufferErrorStackOverflow,
        [SMTL_FAILURE_TIMEOUT] = MTLCommandBufferErrorTimeout,
        [SMTL_FAILURE_TRAP] = MTLCommandBufferErrorInternal,
    };
    smtl_failure failure;
    char *message = NULL;
    if (!smtl_launch_run(launch, &failure, &message)) return fail(execution, codes[failure], message);
    smtl_count_launches(1);
    return true;
}

/* Runs what waits, in an order that the seed decides. */
static bool flush(smtl_replay *replay) {
    smtl_unordered *unordered = &replay->unordered;
    bool finished = true;
    for (size_t left = unordered->count; left > 0 && finished; left--) {
        size_t chosen = (size_t)smtl_random_below(&unordered->random, left);
        finished = run_now(&unordered->launches[chosen], replay->execution);
        unordered->launches[chosen] = unordered->launches[left - 1];
    }
    unordered->count = 0;
    return finished;
}

static bool postpone(smtl_unordered *unordered, const smtl_launch *launch, smtl_execution *execution) {
    if (unordered->count == unordered->capacity) {
        size_t larger = unordered->capacity == 0 ? 64 : unordered->capacity * 2;
        smtl_launch *grown = realloc(unordered->launches, larger * sizeof *grown);
        if (grown == NULL) return fail(execution, MTLCommandBufferErrorOutOfMemory, NULL);
        unordered->launches = grown;
        unordered->capacity = larger;
    }
    unordered->launches[unordered->count++] = *launch;
    return true;
}

/* What comes later begins when all before has ended. */
static bool barrier(smtl_replay *replay) {
    if (replay->execution->order != NULL) smtl_order_barrier(replay->execution->order);
    return flush(replay);
}

static bool begin_encoder(smtl_replay *replay, bool concurrent) {
    if (!flush(replay)) return false;
    memset(&replay->bindings, 0, sizeof replay->bindings);
    replay->pipeline = nil;
    replay->shuffled = concurrent && smtl_settings_get()->shuffle.on;
    replay->execution->encoder++;
    if (replay->execution->order != NULL) smtl_order_begin_encoder(replay->execution->order, concurrent);
    return true;
}

static bool is_empty(const uint32_t size[3]) { return size[0] == 0 || size[1] == 0 || size[2] == 0; }

static bool run_or_postpone(smtl_replay *replay, smtl_launch *launch) {
    if (is_empty(launch->threads_per_grid)) return true;
    launch->log = replay->execution->log;
    launch->encode_command = SMTLEncodeKernelCommand;
    if (replay->execution->order != NULL) launch->moment = smtl_order_launch(replay->execution->order);
    return replay->shuffled ? postpone(&replay->unordered, launch, replay->execution)
                            : run_now(launch, replay->execution);
}

static bool run_launch(smtl_replay *replay, const uint32_t grid[3], const uint32_t group[3]) {
    smtl_launch *launch = &replay->bindings;
    memcpy(launch->threads_per_grid, grid, sizeof launch->threads_per_grid);
    memcpy(launch->threads_per_threadgroup, group, sizeof launch->threads_per_threadgroup);
    return run_or_postpone(replay, launch);
}

static bool run_indirect(smtl_replay *replay, const smtl_record_launch_indirect *command) {
    uint32_t grid[3];
    if (is_empty(command->threadgroups_per_grid)) return true;
    for (int i = 0; i < 3; i++) {
        uint64_t threads = (uint64_t)command->threadgroups_per_grid[i] * command->threads_per_threadgroup[i];
        if (threads > UINT32_MAX) {
            return fail(replay->execution, MTLCommandBufferErrorPageFault,
                        strdup("indirect dispatch: the grid is too large"));
        }
        grid[i] = (uint32_t)threads;
    }
    return run_launch(replay, grid, command->threads_per_threadgroup);
}

static bool fail_command(smtl_replay *replay, NSUInteger index, const char *problem) {
    char text[160];
    smtl_snprintf(text, sizeof text, "command %lu of an indirect command buffer: %s", (unsigned long)index, problem);
    return fail(replay->execution, MTLCommandBufferErrorInvalidResource, strdup(text));
}

/* The pipeline that the command sets: nil, if it sets none or if its pipeline has ended. */
static const SMTLComputePipeline *pipeline_of(smtl_replay *replay, const smtl_indirect_command *command,
                                              const smtl_command_code *code) {
    if (command->pipeline != nil && command->pipeline->_handle == code->pipeline) return command->pipeline;
    for (SMTLComputePipeline *known in replay->pipelines)
        if (known->_handle == code->pipeline) return known;
    SMTLComputePipeline *pipeline = SMTLRetainPipelineOfHandle(code->pipeline);
    if (pipeline == nil) return nil;
    if (replay->pipelines == nil) replay->pipelines = [[NSMutableArray alloc] init];
    [replay->pipelines addObject:pipeline];
    [pipeline release];
    return pipeline;
}

static bool run_command(smtl_replay *replay, const SMTLIndirectCommandBuffer *commands, NSUInteger index) {
    const smtl_indirect_command *command = &commands->_commands[index];
    /* A copy: whoever encodes the command at the same time cannot change what has been checked. */
    const smtl_command_code code = command->code;
    smtl_launch launch;
    if (code.barrier && !barrier(replay)) return false;
    if (!code.launches || is_empty(code.threads_per_grid) || is_empty(code.threads_per_threadgroup)) return true;
    const SMTLComputePipeline *pipeline = replay->pipeline;
    if (!commands->_inheritsPipeline) {
        pipeline = pipeline_of(replay, command, &code);
        if (pipeline == nil && code.pipeline != 0) return fail_command(replay, index, "its pipeline has been released");
    }
    const char *problem = SMTLPrepareIndirectCommand(commands, &code, pipeline, &replay->bindings, &launch);
    return problem == NULL ? run_or_postpone(replay, &launch) : fail_command(replay, index, problem);
}

/* The commands of one call may run in any order, whatever the encoder's own launches do. */
static bool run_commands(smtl_replay *replay, const smtl_record_execute *record) {
    const SMTLIndirectCommandBuffer *commands = record->commands;
    const NSUInteger location = record->range == NULL ? record->location : record->range[0];
    const NSUInteger length = record->range == NULL ? record->length : record->range[1];
    if (location > commands->_count || length > commands->_count - location) {
        return fail(replay->execution, MTLCommandBufferErrorPageFault,
                    strdup("the indirect range exceeds the indirect command buffer"));
    }
    const bool shuffled = replay->shuffled;
    replay->shuffled = smtl_settings_get()->shuffle.on;
    smtl_order *const order = replay->execution->order;
    if (order != NULL) smtl_order_begin_commands(order);
    bool finished = true;
    for (NSUInteger i = 0; i < length && finished; i++) finished = run_command(replay, commands, location + i);
    if (order != NULL) smtl_order_end_commands(order);
    replay->shuffled = shuffled;
    return finished && (shuffled || flush(replay));
}

static bool run_host(const smtl_record_host *command, smtl_execution *execution) {
    smtl_host_failure failure = {MTLCommandBufferErrorInternal, NULL};
    if (!command->run(command->argument, &failure)) return fail(execution, failure.code, failure.message);
    for (unsigned i = 0; i < command->record.index && smtl_sanitizer_enabled(); i++)
        smtl_sanitizer_filled(command->written[i].bytes, command->written[i].size);
    smtl_count_launches(1);
    return true;
}

/* Alone, so that its time is its own. */
static void copy_over_link(smtl_replay *replay, smtl_blit blit) {
    smtl_blit_group_run(replay->blits);
    const uint64_t begin = smtl_now_ns();
    smtl_blit_group_add(replay->blits, blit);
    smtl_blit_group_run(replay->blits);
    smtl_link_end(begin, blit.size);
}

/* False ends the command buffer, with the reason in the execution. */
static bool run_record(smtl_record *record, smtl_replay *replay) {
    smtl_launch *bindings = &replay->bindings;
    switch ((smtl_op)record->op) {
    case SMTL_OP_BEGIN_ENCODER: return begin_encoder(replay, record->index != 0);
    case SMTL_OP_BARRIER: return barrier(replay);
    case SMTL_OP_SET_PIPELINE:
        replay->pipeline = ((const smtl_set_pipeline *)record)->pipeline;
        bindings->kernel = replay->pipeline->_kernel;
        return true;
    case SMTL_OP_SET_BUFFER: {
        const smtl_set_buffer *command = (const smtl_set_buffer *)record;
        bindings->buffers[record->index] = command->address;
        bindings->buffer_lengths[record->index] = command->length;
        bindings->inline_bytes &= ~(1u << record->index);
        return true;
    }
    case SMTL_OP_SET_BYTES: {
        smtl_set_bytes *command = (smtl_set_bytes *)record;
        bindings->buffers[record->index] = command->bytes;
        bindings->inline_bytes |= 1u << record->index;
        bindings->buffer_lengths[record->index] = command->length;
        return true;
    }
    case SMTL_OP_SET_THREADGROUP_MEMORY:
        bindings->threadgroup_lengths[record->index] = ((const smtl_set_threadgroup_memory *)record)->length;
        return true;
    case SMTL_OP_LAUNCH: {
        const smtl_record_launch *command = (const smtl_record_launch *)record;
        return run_launch(replay, command->threads_per_grid, command->threads_per_threadgroup);
    }
    case SMTL_OP_LAUNCH_INDIRECT: return run_indirect(replay, (const smtl_record_launch_indirect *)record);
    case SMTL_OP_EXECUTE: return run_commands(replay, (const smtl_record_execute *)record);
    case SMTL_OP_RESET_COMMANDS: {
        const smtl_record_execute *command = (const smtl_record_execute *)record;
        [command->commands resetCommands:NSMakeRange(command->location, command->length)];
        return true;
    }
    case SMTL_OP_COPY_COMMANDS: {
        const smtl_record_copy_commands *command = (const smtl_record_copy_commands *)record;
        [command->destination copyCommands:NSMakeRange(command->location, command->length) from:command->source
                                        to:command->index];
        return true;
    }
    case SMTL_OP_SAMPLE: {
        const smtl_record_sample *command = (const smtl_record_sample *)record;
        if (!flush(replay)) return false;
        [command->samples sampleAtIndex:command->index];
        return true;
    }
    case SMTL_OP_RESOLVE_SAMPLES: {
        const smtl_record_resolve *command = (const smtl_record_resolve *)record;
        [command->samples copySamples:NSMakeRange(command->location, command->length) to:command->destination];
        return true;
    }
    case SMTL_OP_COPY: {
        const smtl_record_copy *command = (const smtl_record_copy *)record;
        smtl_blit blit = {.to = command->destination, .from = command->source, .size = command->size};
        if (record->index != 0)
            copy_over_link(replay, blit);
        else
            smtl_blit_group_add(replay->blits, blit);
        return true;
    }
    case SMTL_OP_FILL: {
        const smtl_record_fill *command = (const smtl_record_fill *)record;
        smtl_blit blit = {.to = command->destination, .value = command->value, .size = command->size};
        smtl_blit_group_add(replay->blits, blit);
        return true;
    }
    case SMTL_OP_SYNCHRONIZE: {
        SMTLBuffer *const buffer = ((const smtl_record_synchronize *)record)->buffer;
        const uint64_t begin = smtl_now_ns();
        [buffer copyToCPU];
        if (smtl_link_enabled() && ![buffer->_device hasUnifiedMemory]) smtl_link_end(begin, buffer->_length);
        return true;
    }
    case SMTL_OP_HOST: return run_host((const smtl_record_host *)record, replay->execution);
    case SMTL_OP_UPDATE_FENCE:
        [((const smtl_record_fence *)record)->fence noteSignalOf:replay->execution->order];
        return true;
    case SMTL_OP_WAIT_FENCE:
        [((const smtl_record_fence *)record)->fence noteWaitOf:replay->execution->order];
        return true;
    case SMTL_OP_SIGNAL_EVENT: {
        const smtl_record_event *command = (const smtl_record_event *)record;
        if (!flush(replay)) return false;
        if (replay->execution->order != NULL) [command->event noteSignalOf:replay->execution->order];
        smtl_delay();
        [command->event signalValue:command->value];
        return true;
    }
    case SMTL_OP_WAIT_EVENT: {
        const smtl_record_event *command = (const smtl_record_event *)record;
        if (!flush(replay)) return false;
        smtl_shuffled_queue_pause(replay->execution->queue);
        [command->event waitForValue:command->value];
        smtl_delay();
        smtl_shuffled_queue_resume(replay->execution->queue);
        if (replay->execution->order != NULL) [command->event noteWaitOf:replay->execution->order];
        return true;
    }
    case SMTL_OP_FAIL: {
        const smtl_record_fail *command = (const smtl_record_fail *)record;
        if (command->threadgroups_per_grid != NULL && is_empty(command->threadgroups_per_grid)) return true;
        return flush(replay) && fail(replay->execution, MTLCommandBufferErrorInvalidResource, strdup(command->reason));
    }
    }
    return fail(replay->execution, MTLCommandBufferErrorInternal, strdup("the command stream is damaged"));
}

static bool run_records(const smtl_stream *stream, smtl_replay *replay) {
    for (smtl_chunk *chunk = stream->first; chunk != NULL; chunk = chunk->next) {
        for (size_t offset = 0; offset < chunk->used;) {
            smtl_record *record = (smtl_record *)(chunk->bytes + offset);
            if (record->op != SMTL_OP_COPY && record->op != SMTL_OP_FILL) smtl_blit_group_run(replay->blits);
            if (!run_record(record, replay)) return false;
            offset += record->size;
        }
    }
    return true;
}

void smtl_execute(const smtl_stream *stream, smtl_execution *execution) {
    smtl_blit_group blits;
    smtl_blit_group_clear(&blits);
    smtl_replay replay = {.blits = &blits, .execution = execution};
    replay.unordered.random = smtl_settings_get()->shuffle.value;
    if (run_records(stream, &replay)) {
        smtl_blit_group_run(&blits);
        flush(&replay);
    }
    free(replay.unordered.launches);
    [replay.pipelines release];
}
