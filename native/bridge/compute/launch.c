/* What Metal asks of a launch. Plain C: nothing here sends a message. */
#include "compute/launch.h"

#include "core/checks.h"

/* Threadgroup memory comes in units of this many bytes. */
static const size_t threadgroup_memory_unit = 16;

mtb_status mtbi_check_buffer_offset(const mtb_buffer *buffer, size_t offset, mtb_error **error, const char *function) {
    if (offset < buffer->length) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "offset %zu is past the end of the buffer, which has %zu bytes",
                     offset, buffer->length);
}

mtb_status mtbi_check_threadgroup_length(const mtb_device *device, size_t length, mtb_error **error,
                                         const char *function) {
    size_t limit = device->info.max_threadgroup_memory_length;
    if (length > limit)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "%zu bytes of threadgroup memory are too many: the device has %zu", length, limit);
    return mtbi_check_multiple(length, threadgroup_memory_unit, "length of the threadgroup memory", error, function);
}

static const char *argument_noun(const mtb_argument *argument) {
    switch (argument->kind) {
    case MTB_ARGUMENT_BUFFER: return "buffer";
    case MTB_ARGUMENT_THREADGROUP_MEMORY: return "threadgroup memory";
    case MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE: return "visible function table";
    case MTB_ARGUMENT_OTHER: break;
    }
    return "texture or sampler (which this bridge does not set)";
}

/* Tables and buffers share their indices. */
static mtb_status check_table(const mtb_pipeline *pipeline, const mtb_argument *argument,
                              const mtb_visible_function_table *table, mtb_error **error, const char *function) {
    bool takes_table = argument->kind == MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE;
    if (takes_table != (table != NULL))
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                         "`%s` of kernel `%s` is a %s, and a %s is set at its index %u", argument->name, pipeline->name,
                         argument_noun(argument), table ? "visible function table" : "buffer", argument->index);
    if (table && table->pipeline != pipeline)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                         "the visible function table that is set for `%s` of kernel `%s` (index %u) belongs to another "
                         "pipeline",
                         argument->name, pipeline->name, argument->index);
    return MTB_OK;
}

mtb_status mtbi_check_argument(const mtb_pipeline *pipeline, const mtb_argument *argument, mtbi_bound bound,
                               mtb_error **error, const char *function) {
    const char *kernel = pipeline->name;
    if (!argument->is_used) return MTB_OK;
    if (!bound.is_set)
        return mtbi_fail(error, function, MTB_MISSING_ARGUMENT, "kernel `%s` needs `%s`: no %s is set at index %u",
                         kernel, argument->name, argument_noun(argument), argument->index);
    if (argument->kind == MTB_ARGUMENT_THREADGROUP_MEMORY) return MTB_OK;
    REQUIRE(check_table(pipeline, argument, bound.table, error, function));
    if (argument->kind != MTB_ARGUMENT_BUFFER) return MTB_OK;
    if (bound.available < argument->data_size)
        return mtbi_fail(
            error, function, MTB_OUT_OF_RANGE,
            "kernel `%s` reads %zu bytes through `%s`, but what is set at index %u has only %zu bytes from its offset "
            "on",
            kernel, argument->data_size, argument->name, argument->index, bound.available);
    if (argument->alignment > 1 && bound.offset % argument->alignment != 0)
        return mtbi_fail(error, function, MTB_MISALIGNED,
                         "`%s` of kernel `%s` (index %u) is at offset %zu, not a multiple of %zu", argument->name,
                         kernel, argument->index, bound.offset, argument->alignment);
    return MTB_OK;
}

mtb_status mtbi_check_threadgroup_memory(const mtb_pipeline *pipeline, size_t length, mtb_error **error,
                                         const char *function) {
    size_t total = pipeline->static_threadgroup_memory + length;
    size_t limit = pipeline->device->info.max_threadgroup_memory_length;
    if (total <= limit) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                     "kernel `%s` needs %zu bytes of threadgroup memory, but the device has %zu", pipeline->name, total,
                     limit);
}

mtb_status mtbi_check_extents(const mtb_device *device, mtb_size group, mtb_error **error, const char *function) {
    mtb_size limit = device->info.max_threads_per_threadgroup;
    if (group.width <= limit.width && group.height <= limit.height && group.depth <= limit.depth) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                     "threadgroups of %zu x %zu x %zu threads are too large: the device's largest are %zu x %zu x %zu",
                     group.width, group.height, group.depth, limit.width, limit.height, limit.depth);
}

mtb_status mtbi_check_threadgroup(const mtb_pipeline *pipeline, mtb_size group, mtb_error **error,
                                  const char *function) {
    REQUIRE(mtbi_check_extents(pipeline->device, group, error, function));
    if (group.width * group.height * group.depth <= pipeline->max_threads) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                     "threadgroups of %zu x %zu x %zu threads are too large: kernel `%s` can have %zu threads in all",
                     group.width, group.height, group.depth, pipeline->name, pipeline->max_threads);
}

/* Kernels count threads in 32 bits. */
static bool fits_grid(size_t count, size_t unit) { return count <= UINT32_MAX / unit; }

mtb_status mtbi_check_grid(mtb_size grid, mtb_size unit, mtb_error **error, const char *function) {
    if (fits_grid(grid.width, unit.width) && fits_grid(grid.height, unit.height) && fits_grid(grid.depth, unit.depth))
        return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                     "a grid of %zu x %zu x %zu is too large: each dimension has at most 2^32 - 1 threads", grid.width,
                     grid.height, grid.depth);
}

mtb_status mtbi_check_nonuniform(const mtb_device *device, mtb_error **error, const char *function) {
    if (device->has_nonuniform_threadgroups) return MTB_OK;
    return mtbi_fail(error, function, MTB_UNSUPPORTED,
                     "the device needs threadgroups of one size: use mtb_compute_encoder_dispatch_threadgroups");
}
