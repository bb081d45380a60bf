/* What the bridge remembers of indirect commands, and what it checks in them. Plain C: nothing here sends a message. */
#include "core/checks.h"
#include "indirect/indirect.h"

#include <stdlib.h>
#include <string.h>

mtb_status mtbi_indirect_check_range(const mtb_indirect_command_buffer *commands, size_t first, size_t count,
                                     mtb_error **error, const char *function) {
    if (first <= commands->count && count <= commands->count - first) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                     "%zu commands from command %zu on end past the indirect command buffer's %zu", count, first,
                     commands->count);
}

static mtbi_indirect_binding *bindings_of(const mtb_indirect_command_buffer *commands, size_t index) {
    return commands->bindings + index * commands->descriptor.max_buffers;
}

static uint32_t *threadgroup_memory_of(const mtb_indirect_command_buffer *commands, size_t index) {
    return commands->threadgroup_memory + index * commands->descriptor.max_threadgroup_memories;
}

mtbi_bound mtbi_indirect_bound(const mtb_indirect_command_buffer *commands, size_t index,
                               const mtb_argument *argument) {
    const mtb_indirect_descriptor *descriptor = &commands->descriptor;
    mtbi_bound bound = {0};
    if (argument->kind == MTB_ARGUMENT_THREADGROUP_MEMORY && argument->index < descriptor->max_threadgroup_memories)
        bound.is_set = threadgroup_memory_of(commands, index)[argument->index] > 0;
    if (argument->kind != MTB_ARGUMENT_BUFFER || argument->index >= descriptor->max_buffers) return bound;
    const mtbi_indirect_binding *binding = &bindings_of(commands, index)[argument->index];
    if (!binding->buffer) return bound;
    return (mtbi_bound){
        .is_set = true, .offset = binding->offset, .available = binding->buffer->length - binding->offset};
}

size_t mtbi_indirect_threadgroup_memory(const mtb_indirect_command_buffer *commands, size_t index) {
    size_t total = 0;
    for (size_t i = 0; i < commands->descriptor.max_threadgroup_memories; i++)
        total += threadgroup_memory_of(commands, index)[i];
    return total;
}

static mtb_status check_own_arguments(const mtb_indirect_command_buffer *commands, size_t index, mtb_error **error,
                                      const char *function) {
    const mtb_pipeline *pipeline = commands->commands[index].pipeline;
    for (size_t i = 0; i < pipeline->argument_count; i++) {
        const mtb_argument *argument = &pipeline->arguments[i];
        REQUIRE(
            mtbi_check_argument(pipeline, argument, mtbi_indirect_bound(commands, index, argument), error, function));
    }
    return mtbi_check_threadgroup_memory(pipeline, mtbi_indirect_threadgroup_memory(commands, index), error, function);
}

mtb_status mtbi_indirect_check_dispatch(const mtb_indirect_command_buffer *commands, size_t index, mtb_size grid,
                                        mtb_size unit, mtb_size group, mtb_error **error, const char *function) {
    const mtb_pipeline *pipeline = commands->commands[index].pipeline;
    if (mtbi_is_empty(grid) || mtbi_is_empty(group))
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                         "command %zu would have no threads: reset a command that is to do nothing", index);
    if (!pipeline && !commands->descriptor.inherits_pipeline)
        return mtbi_fail(error, function, MTB_INVALID_STATE, "command %zu has no pipeline", index);
    REQUIRE(pipeline ? mtbi_check_threadgroup(pipeline, group, error, function)
                     : mtbi_check_extents(commands->device, group, error, function));
    REQUIRE(mtbi_check_grid(grid, unit, error, function));
    if (!pipeline || commands->descriptor.inherits_buffers) return MTB_OK;
    return check_own_arguments(commands, index, error, function);
}

static void forget_command(mtb_indirect_command_buffer *commands, size_t index) {
    mtbi_indirect_command forgotten = commands->commands[index];
    commands->commands[index] = (mtbi_indirect_command){0};
    for (size_t i = 0; i < commands->descriptor.max_buffers; i++) {
        mtb_buffer *buffer = bindings_of(commands, index)[i].buffer;
        bindings_of(commands, index)[i] = (mtbi_indirect_binding){0};
        mtb_buffer_release(buffer);
    }
    for (size_t i = 0; i < commands->descriptor.max_threadgroup_memories; i++)
        threadgroup_memory_of(commands, index)[i] = 0;
    mtb_pipeline_release(forgotten.pipeline);
}

void mtbi_indirect_forget(mtb_indirect_command_buffer *commands, size_t first, size_t count) {
    mtbi_indirect_forget_residencies(commands);
    for (size_t i = 0; i < count; i++) forget_command(commands, first + i);
}

static void forget_residency(mtbi_indirect_residency *residency) {
    free(residency->resources);
    *residency = (mtbi_indirect_residency){0};
}

void mtbi_indirect_forget_residencies(mtb_indirect_command_buffer *commands) {
    for (size_t i = 0; i < MTBI_RESIDENCIES; i++) forget_residency(&commands->residencies[i]);
}

/* A buffer that a command uses. */
typedef struct {
    void *resource;
    bool is_written;
} use;

static int by_resource(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const use *)a)->resource, y = (uintptr_t)((const use *)b)->resource;
    return (x > y) - (x < y);
}

/* A kernel that is not known may write. Metal names an array of buffers by its first index alone, and so what lies
 * behind an argument may belong to it. */
static bool may_write(const mtb_pipeline *pipeline, size_t binding) {
    const mtb_argument *nearest = NULL;
    for (size_t i = 0; pipeline && i < pipeline->argument_count; i++) {
        const mtb_argument *argument = &pipeline->arguments[i];
        if (argument->kind == MTB_ARGUMENT_BUFFER && argument->index <= binding &&
            (!nearest || argument->index >= nearest->index))
            nearest = argument;
    }
    return !pipeline || (nearest && nearest->access != MTB_ACCESS_READ_ONLY);
}

static size_t collect(const mtb_indirect_command_buffer *commands, size_t first, size_t count, use *uses) {
    size_t collected = 0;
    for (size_t index = first; index < first + count; index++) {
        const mtbi_indirect_command *command = &commands->commands[index];
        for (size_t i = 0; command->has_dispatch && i < commands->descriptor.max_buffers; i++) {
            mtb_buffer *buffer = bindings_of(commands, index)[i].buffer;
            if (buffer) uses[collected++] = (use){buffer->metal, may_write(command->pipeline, i)};
        }
    }
    return collected;
}

/* Sorts, and leaves each resource once. */
static size_t unite(use *uses, size_t count) {
    size_t kept = 0;
    qsort(uses, count, sizeof *uses, by_resource);
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && uses[kept - 1].resource == uses[i].resource)
            uses[kept - 1].is_written |= uses[i].is_written;
        else
            uses[kept++] = uses[i];
    return kept;
}

const mtbi_indirect_residency *mtbi_indirect_find_residency(mtb_indirect_command_buffer *commands, size_t first,
                                                            size_t count, mtb_error **error, const char *function) {
    for (size_t i = 0; i < MTBI_RESIDENCIES; i++) {
        const mtbi_indirect_residency *known = &commands->residencies[i];
        if (known->resources && known->first == first && known->commands == count) return known;
    }
    mtbi_indirect_residency *residency = &commands->residencies[commands->next_residency++ % MTBI_RESIDENCIES];
    forget_residency(residency);
    size_t most = count * commands->descriptor.max_buffers + 1;
    use *uses = calloc(most, sizeof *uses);
    size_t used = uses ? unite(uses, collect(commands, first, count, uses)) : 0;
    void **resources = uses ? calloc(used + 1, sizeof *resources) : NULL;
    if (resources) {
        for (size_t i = 0; i < used; i++)
            if (!uses[i].is_written) resources[residency->reads++] = uses[i].resource;
        for (size_t i = 0; i < used; i++)
            if (uses[i].is_written) resources[residency->reads + residency->writes++] = uses[i].resource;
        residency->resources = resources;
        residency->first = first;
        residency->commands = count;
    }
    free(uses);
    if (resources) return residency;
    mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for the buffers of %zu commands", count);
    return NULL;
}

uint64_t mtb_indirect_command_buffer_gpu_resource_id(const mtb_indirect_command_buffer *commands) {
    return commands ? commands->gpu_resource_id : 0;
}

size_t mtb_indirect_command_buffer_size(const mtb_indirect_command_buffer *commands) {
    return commands ? commands->count : 0;
}
