/* What is behind mtb_library, mtb_constant_values and mtb_function. */
#ifndef MTBI_LIBRARY_H
#define MTBI_LIBRARY_H

#include "device/device.h"

struct mtb_library {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLLibrary) metal;
    char *warnings;
    char **function_names;
    size_t function_count;
};

struct mtb_constant_values {
    mtbi_handle handle;
    MTBI_INSTANCE(MTLFunctionConstantValues) metal;
};

struct mtb_function {
    mtbi_handle handle;
    mtb_library *library;
    MTBI_OBJECT(MTLFunction) metal;
    char *name;
};

#endif
