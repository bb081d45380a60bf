/* An indirect command buffer, and what the bridge remembers of its commands: Metal tells nothing of them. */
#ifndef MTBI_INDIRECT_H
#define MTBI_INDIRECT_H

#include "compute/compute_encoder.h"
#include "metal_bridge_indirect.h"

typedef struct mtbi_indirect_binding {
    /* Retained; NULL for none. */
    mtb_buffer *buffer;
    size_t offset;
} mtbi_indirect_binding;

typedef struct mtbi_indirect_command {
    /* Retained; NULL if none is set and if it is inherited. */
    mtb_pipeline *pipeline;
    bool has_dispatch;
    /* A blit encoder has reset the command, or will. What it had is kept until the CPU encodes it again. */
    bool is_reset_by_gpu;
    /* The CPU has set a barrier since then. */
    bool barrier_after_reset;
    mtb_size group;
} mtbi_indirect_command;

/* Buffers that a range of commands uses, each once: first those that are only read. */
typedef struct mtbi_indirect_residency {
    size_t first;
    size_t commands;
    MTBI_OBJECT(MTLResource) * resources;
    size_t reads;
    size_t writes;
} mtbi_indirect_residency;

enum {
    MTBI_RESIDENCIES = 8
};

struct mtb_indirect_command_buffer {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLIndirectCommandBuffer) metal;
    /* Zero before macOS 13. */
    uint64_t gpu_resource_id;
    mtb_indirect_descriptor descriptor;
    size_t count;
    mtbi_indirect_command *commands;
    /* `descriptor.max_buffers` for each command, and `descriptor.max_threadgroup_memories`. */
    mtbi_indirect_binding *bindings;
    uint32_t *threadgroup_memory;
    /* Of ranges that were executed, by turns: replays have a few. One without resources is not known. */
    mtbi_indirect_residency residencies[MTBI_RESIDENCIES];
    size_t next_residency;
};

/* The range is inside; it may be empty. */
mtb_status mtbi_indirect_check_range(const mtb_indirect_command_buffer *commands, size_t first, size_t count,
                                     mtb_error **error, const char *function);
/* What the command has set for an argument of its kernel. */
mtbi_bound mtbi_indirect_bound(const mtb_indirect_command_buffer *commands, size_t index, const mtb_argument *argument);
/* All threadgroup memory of the command. */
size_t mtbi_indirect_threadgroup_memory(const mtb_indirect_command_buffer *commands, size_t index);
/* Fits a dispatch to the command, which has none. Nothing that the command inherits is checked. */
mtb_status mtbi_indirect_check_dispatch(const mtb_indirect_command_buffer *commands, size_t index, mtb_size grid,
                                        mtb_size unit, mtb_size group, mtb_error **error, const char *function);
/* Forgets what the commands have, and releases it. */
void mtbi_indirect_forget(mtb_indirect_command_buffer *commands, size_t first, size_t count);
/* What the range uses, until the commands change or the next call. NULL if there is no memory. */
const mtbi_indirect_residency *mtbi_indirect_find_residency(mtb_indirect_command_buffer *commands, size_t first,
                                                            size_t count, mtb_error **error, const char *function);
/* The commands have changed. */
void mtbi_indirect_forget_residencies(mtb_indirect_command_buffer *commands);

#endif
