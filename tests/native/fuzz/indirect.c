/* Indirect command buffers. One action makes a few commands, encodes some of them, and executes them. */
#include "fuzz.h"

#include "metal_bridge_indirect.h"

#include <stdlib.h>

enum {
    COMMANDS = 3,
    BINDINGS = 3
};

/* What the kernel `first` of a command has. */
typedef struct {
    bool has_pipeline, has_dispatch;
    size_t bound[BINDINGS], offset[BINDINGS];
} command;

typedef struct {
    mtb_indirect_command_buffer *handle;
    int device;
    uint32_t types;
    mtb_pipeline *pipeline;
    command commands[COMMANDS];
} recording;

/* The first one mostly, so that it gets all that it needs. */
static size_t any_command(void) { return one_in(16) ? any_size() : one_in(4) ? below(COMMANDS) : 0; }

/* What every call on a command is refused for. */
static verdict settable(const recording *of, size_t index) {
    verdict v = {0};
    refuse_if(&v, index >= COMMANDS, MTB_OUT_OF_RANGE);
    refuse_if(&v, index < COMMANDS && of->commands[index].has_dispatch, MTB_INVALID_STATE);
    return v;
}

static void set_pipeline(recording *of) {
    size_t index = any_command();
    verdict v = settable(of, index);
    uint32_t which = below(4);
    mtb_pipeline *direct = all.devices[of->device].pipelines[0];
    mtb_pipeline *pipeline = which == 0 ? NULL : which == 1 ? direct : of->pipeline;
    refuse_if(&v, which < 2, MTB_INVALID_ARGUMENT);
    if (CALL(&v, mtb_indirect_command_set_pipeline, of->handle, index, pipeline))
        of->commands[index].has_pipeline = true;
}

static void set_buffer(recording *of) {
    size_t index = any_command(), binding = one_in(8) ? BINDINGS : below(2),
           offset = one_in(4) ? any_offset_in_buffer() : 0;
    buffer_model *buffer = PICK(all.buffers);
    verdict v = settable(of, index);
    refuse_if(&v, !buffer, MTB_INVALID_ARGUMENT);
    refuse_if(&v, buffer && buffer->device != of->device, MTB_WRONG_DEVICE);
    refuse_if(&v, binding >= BINDINGS || (buffer && offset >= buffer->length), MTB_OUT_OF_RANGE);
    if (!CALL(&v, mtb_indirect_command_set_buffer, of->handle, index, HANDLE(buffer), offset, binding)) return;
    of->commands[index].bound[binding] = buffer->length - offset;
    of->commands[index].offset[binding] = offset;
}

static void dispatch(recording *of) {
    size_t index = any_command(), width = one_in(8) ? any_size() : 1 + below(64);
    bool threads = one_in(2);
    mtb_size grid = {one_in(8) ? any_size() : below(8), 1, 1}, group = {width, 1, 1};
    verdict v = settable(of, index);
    refuse_if(&v, !(of->types & (threads ? MTB_INDIRECT_DISPATCH_THREADS : MTB_INDIRECT_DISPATCH_THREADGROUPS)),
              MTB_INVALID_STATE);
    refuse_if(&v, grid.width == 0 || width == 0, MTB_INVALID_ARGUMENT);
    refuse_if(&v, width > all.devices[of->device].info.max_threads_per_threadgroup.width, MTB_OUT_OF_RANGE);
    refuse_if(&v, width > 0 && grid.width > UINT32_MAX / (threads ? 1 : width), MTB_OUT_OF_RANGE);
    /* Larger grids take too long. */
    if (is_valid(&v) && grid.width > 64) return;
    const command *has = index < COMMANDS ? &of->commands[index] : NULL;
    refuse_if(&v, has && !has->has_pipeline, MTB_INVALID_STATE);
    for (size_t i = 0; has && i < 2; i++) {
        refuse_if(&v, has->bound[i] == 0, MTB_MISSING_ARGUMENT);
        refuse_if(&v, has->bound[i] && has->bound[i] < 4, MTB_OUT_OF_RANGE);
        refuse_if(&v, has->offset[i] % 4 != 0, MTB_MISALIGNED);
    }
    bool done = threads ? CALL(&v, mtb_indirect_command_dispatch_threads, of->handle, index, grid, group)
                        : CALL(&v, mtb_indirect_command_dispatch_threadgroups, of->handle, index, grid, group);
    if (done) of->commands[index].has_dispatch = true;
}

static void set_the_rest(recording *of) {
    size_t index = any_command(), length = one_in(4) ? any_size() : 16 * below(1024), binding = below(3);
    verdict v = settable(of, index);
    refuse_if(&v, binding >= 1 || length > all.devices[of->device].info.max_threadgroup_memory_length,
              MTB_OUT_OF_RANGE);
    refuse_if(&v, length % 16 != 0, MTB_MISALIGNED);
    if (length < 1024) CALL(&v, mtb_indirect_command_set_threadgroup_memory, of->handle, index, length, binding);
    verdict barrier = {0};
    refuse_if(&barrier, index >= COMMANDS, MTB_OUT_OF_RANGE);
    if (one_in(2))
        CALL(&barrier, mtb_indirect_command_set_barrier, of->handle, index);
    else
        CALL(&barrier, mtb_indirect_command_clear_barrier, of->handle, index);
}

static verdict in_range(size_t first, size_t count) {
    verdict v = {0};
    refuse_if(&v, first > COMMANDS || count > COMMANDS - first, MTB_OUT_OF_RANGE);
    return v;
}

static void reset(recording *of) {
    size_t first = any_command(), count = any_command();
    verdict v = in_range(first, count);
    if (!CALL(&v, mtb_indirect_command_buffer_reset, of->handle, first, count)) return;
    for (size_t i = first; i < first + count; i++) of->commands[i] = (command){0};
}

/* On command buffers that are open; the GPU resets after all else. */
static void execute(recording *of) {
    encoder_model **picked = PICK(all.encoders);
    encoder_model *encoder = picked ? *picked : NULL;
    size_t first = any_command(), count = any_command();
    verdict v = {0}, ranged = in_range(first, count);
    refuse_if(&v, !encoder, MTB_INVALID_ARGUMENT);
    refuse_if(&v, encoder && encoder->has_ended, MTB_INVALID_STATE);
    refuse_if(&v, encoder && encoder->device != of->device, MTB_WRONG_DEVICE);
    ranged.refusals |= v.refusals;
    if (encoder && !encoder->is_compute) {
        CALL(&ranged, mtb_blit_encoder_optimize_commands, encoder->blit, of->handle, first, count);
        CALL(&ranged, mtb_blit_encoder_reset_commands, encoder->blit, of->handle, first, count);
        return;
    }
    mtb_compute_encoder *compute = encoder ? encoder->compute : NULL;
    CALL(&ranged, mtb_compute_encoder_execute_commands, compute, of->handle, first, count);
    CALL(&v, mtb_compute_encoder_use_commands, compute, of->handle);
    /* What the GPU would read is not known, so each of these calls is wrong. */
    refuse_if(&v, true, MTB_MISALIGNED);
    buffer_model *buffer = PICK(all.buffers);
    refuse_if(&v, !buffer, MTB_INVALID_ARGUMENT);
    refuse_if(&v, encoder && buffer && buffer->device != encoder->device, MTB_WRONG_DEVICE);
    CALL(&v, mtb_compute_encoder_execute_commands_indirect, compute, of->handle, HANDLE(buffer), 2);
    CALL(&v, mtb_compute_encoder_dispatch_threadgroups_indirect, compute, HANDLE(buffer), 2, (mtb_size){1, 1, 1});
}

static void use_indirect_commands(void) {
    int number = 0;
    device_model *device = pick_device(&number);
    bool is_given = !one_in(8);
    size_t count = one_in(8) ? any_size() : COMMANDS;
    mtb_indirect_descriptor descriptor = {.command_types = 32 * below(5), .max_buffers = BINDINGS};
    descriptor.max_threadgroup_memories = one_in(16) ? any_size() : 1;
    verdict v = {0};
    refuse_if(&v, !device || !is_given || count == 0 || descriptor.command_types % 128 == 0, MTB_INVALID_ARGUMENT);
    refuse_if(&v, count > MTB_MAX_INDIRECT_COMMANDS || descriptor.max_threadgroup_memories > MTB_MAX_BINDINGS,
              MTB_OUT_OF_RANGE);
    recording of = {.device = number, .types = descriptor.command_types};
    of.handle = MAKE(&v, mtb_indirect_command_buffer_create, HANDLE(device), is_given ? &descriptor : NULL, count);
    if (!of.handle) return;
    bool is_usual = mtb_indirect_command_buffer_size(of.handle) == COMMANDS && descriptor.max_threadgroup_memories == 1;
    mtb_function *function = mtb_function_create(device->library, "first", NULL, NULL);
    verdict made = {0};
    refuse_if(&made, !mtb_device_supports_indirect_commands(device->handle), MTB_UNSUPPORTED);
    of.pipeline = MAKE(&made, mtb_pipeline_create_for_indirect_commands, function);
    mtb_function_release(function);
    if (!mtb_pipeline_supports_indirect_commands(of.pipeline)) abort();
    if (mtb_pipeline_gpu_resource_id(of.pipeline) == mtb_indirect_command_buffer_gpu_resource_id(of.handle)) abort();
    static void (*const steps[])(recording *) = {set_pipeline, set_buffer, set_buffer,   set_buffer,
                                                 dispatch,     dispatch,   set_the_rest, reset};
    for (uint32_t left = is_usual ? below(48) : 0; left > 0; left--) steps[below(8)](&of);
    if (is_usual) execute(&of);
    mtb_pipeline_release(of.pipeline);
    mtb_indirect_command_buffer_release(mtb_indirect_command_buffer_retain(of.handle));
    mtb_indirect_command_buffer_release(of.handle);
}

const action indirect_actions[] = {use_indirect_commands};
const uint32_t indirect_action_count = sizeof indirect_actions / sizeof *indirect_actions;
