/* What is behind mtb_pipeline. */
#ifndef MTBI_PIPELINE_H
#define MTBI_PIPELINE_H

#include "device/device.h"
#include "metal_bridge_functions.h"

struct mtb_pipeline {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLComputePipelineState) metal;
    char *name;
    size_t execution_width;
    size_t max_threads;
    size_t static_threadgroup_memory;
    bool supports_indirect_commands;
    mtb_forward_progress_usage forward_progress_usage;
    /* Zero before macOS 13. */
    uint64_t gpu_resource_id;
    /* Each argument's name is the pipeline's own copy. */
    mtb_argument *arguments;
    size_t argument_count;
};

#endif
