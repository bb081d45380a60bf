/* What is behind mtb_dynamic_library. */
#ifndef MTBI_DYNAMIC_LIBRARY_H
#define MTBI_DYNAMIC_LIBRARY_H

#include "device/device.h"

struct mtb_dynamic_library {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLDynamicLibrary) metal;
    char *install_name;
};

#ifdef __OBJC__
/* Metal's objects of `count` libraries of the device, autoreleased; nil, with an error, if one is NULL or of another
 * device. `what` names the list. */
NSArray<id<MTLDynamicLibrary>> *mtbi_dynamic_libraries(const mtb_device *device, mtb_dynamic_library *const *libraries,
                                                       size_t count, const char *what, mtb_error **error,
                                                       const char *function);
#endif

#endif
