/* What devices answer without a message to Metal. */
#include "device/device.h"

#include "core/errors.h"
#include "metal_bridge_functions.h"
#include "metal_bridge_indirect.h"

#include <inttypes.h>
#include <unistd.h>

void mtb_device_get_info(const mtb_device *device, mtb_device_info *info) {
    if (info) *info = device ? device->info : (mtb_device_info){0};
}

size_t mtb_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

mtb_status mtbi_fail_device(const mtb_device *expected, const mtb_device *device, const char *what, mtb_error **error,
                            const char *function) {
    return mtbi_fail(error, function, MTB_WRONG_DEVICE,
                     "the %s belongs to device %" PRIx64 " (%s), the other objects to device %" PRIx64 " (%s)", what,
                     device->info.registry_id, device->info.name, expected->info.registry_id, expected->info.name);
}

bool mtb_device_supports_indirect_commands(const mtb_device *device) { return device && device->has_indirect_commands; }

mtb_status mtbi_check_indirect_support(const mtb_device *device, mtb_error **error, const char *function) {
    if (device->has_indirect_commands) return MTB_OK;
    return mtbi_fail(error, function, MTB_UNSUPPORTED, "the device %s executes no indirect command buffers for compute",
                     device->info.name);
}

bool mtb_device_supports_function_pointers(const mtb_device *device) { return device && device->has_function_pointers; }

mtb_status mtbi_check_function_pointers(const mtb_device *device, mtb_error **error, const char *function) {
    if (device->has_function_pointers) return MTB_OK;
    return mtbi_fail(error, function, MTB_UNSUPPORTED, "the device %s has no function pointers", device->info.name);
}

bool mtb_device_supports_dynamic_libraries(const mtb_device *device) { return device && device->has_dynamic_libraries; }

mtb_status mtbi_check_dynamic_libraries(const mtb_device *device, mtb_error **error, const char *function) {
    if (device->has_dynamic_libraries) return MTB_OK;
    return mtbi_fail(error, function, MTB_UNSUPPORTED, "the device %s has no dynamic libraries", device->info.name);
}
