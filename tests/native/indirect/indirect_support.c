#include "indirect_support.h"

const mtb_indirect_descriptor usual = {
    .command_types = MTB_INDIRECT_DISPATCH_THREADGROUPS | MTB_INDIRECT_DISPATCH_THREADS,
    .max_buffers = 3,
    .max_threadgroup_memories = 1,
};

mtb_pipeline *make_indirect(const char *name) {
    mtb_function *function;
    mtb_pipeline *pipeline;
    MAKE(function, mtb_function_create(shared.library, name, NULL, &error));
    MAKE(pipeline, mtb_pipeline_create_for_indirect_commands(function, &error));
    mtb_function_release(function);
    return pipeline;
}

mtb_indirect_command_buffer *make_commands(mtb_indirect_descriptor descriptor, size_t count) {
    mtb_indirect_command_buffer *commands;
    MAKE(commands, mtb_indirect_command_buffer_create(shared.device, &descriptor, count, &error));
    return commands;
}

mtb_buffer *make_floats(float first, float step) {
    mtb_buffer *buffer = make_buffer(BYTES);
    float *values = mtb_buffer_contents(buffer);
    for (int i = 0; i < COUNT; i++) values[i] = first + step * (float)i;
    return buffer;
}

float *floats(mtb_buffer *buffer) { return mtb_buffer_contents(buffer); }
