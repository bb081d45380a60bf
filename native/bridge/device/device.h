/* What is behind mtb_device. */
#ifndef MTBI_DEVICE_H
#define MTBI_DEVICE_H

#include "core/handles.h"

struct mtb_device {
    mtbi_handle handle;
    MTBI_OBJECT(MTLDevice) metal;
    /* info.name is this device's own copy. */
    mtb_device_info info;
    bool has_nonuniform_threadgroups;
    bool has_indirect_commands;
    bool has_function_pointers;
    bool has_dynamic_libraries;
};

mtb_status mtbi_fail_device(const mtb_device *expected, const mtb_device *device, const char *what, mtb_error **error,
                            const char *function);

/* The device executes indirect command buffers for compute; MTB_UNSUPPORTED otherwise. */
mtb_status mtbi_check_indirect_support(const mtb_device *device, mtb_error **error, const char *function);
/* Its kernels call functions that their pipelines link, and those of dynamic libraries; MTB_UNSUPPORTED otherwise. */
mtb_status mtbi_check_function_pointers(const mtb_device *device, mtb_error **error, const char *function);
mtb_status mtbi_check_dynamic_libraries(const mtb_device *device, mtb_error **error, const char *function);

static inline bool mtbi_is_same_device(const mtb_device *a, const mtb_device *b) {
    return a == b || a->info.registry_id == b->info.registry_id;
}

/* Both are the same GPU, if not the same handle. Inline: every binding asks. */
static inline mtb_status mtbi_check_device(const mtb_device *expected, const mtb_device *device, const char *what,
                                           mtb_error **error, const char *function) {
    if (mtbi_is_same_device(expected, device)) return MTB_OK;
    return mtbi_fail_device(expected, device, what, error, function);
}

#endif
