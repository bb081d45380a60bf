/* What is behind mtb_function_handle and mtb_visible_function_table. */
#ifndef MTBI_FUNCTION_TABLE_H
#define MTBI_FUNCTION_TABLE_H

#include "library/pipeline.h"
#include "metal_bridge_functions.h"

struct mtb_function_handle {
    mtbi_handle handle;
    mtb_pipeline *pipeline;
    MTBI_OBJECT(MTLFunctionHandle) metal;
    char *name;
};

struct mtb_visible_function_table {
    mtbi_handle handle;
    mtb_pipeline *pipeline;
    MTBI_OBJECT(MTLVisibleFunctionTable) metal;
    size_t function_count;
};

#endif
