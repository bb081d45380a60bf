/* What the tests of indirect command buffers share. */
#ifndef INDIRECT_SUPPORT_H
#define INDIRECT_SUPPORT_H

#include "../memory/support.h"
#include "metal_bridge_indirect.h"

enum {
    COUNT = 64,
    BYTES = COUNT * sizeof(float)
};

/* Both types of command, three buffers, one threadgroup memory. */
extern const mtb_indirect_descriptor usual;

mtb_pipeline *make_indirect(const char *name);
mtb_indirect_command_buffer *make_commands(mtb_indirect_descriptor descriptor, size_t count);
/* COUNT floats: first, first + step, ... */
mtb_buffer *make_floats(float first, float step);
float *floats(mtb_buffer *buffer);

#endif
