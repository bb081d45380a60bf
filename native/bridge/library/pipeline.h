/* What is behind mtb_pipeline. */
#ifndef MTBI_PIPELINE_H
#define MTBI_PIPELINE_H

#include "device/device.h"

struct mtb_pipeline {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLComputePipelineState) metal;
    char *name;
    size_t execution_width;
    size_t max_threads;
    size_t static_threadgroup_memory;
    bool supports_indirect_commands;
    /* Zero before macOS 13. */
    uint64_t gpu_resource_id;
    /* Each argument's name is the pipeline's own copy. */
    mtb_argument *arguments;
    size_t argument_count;
};

#endif
