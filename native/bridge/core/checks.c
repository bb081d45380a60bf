/* Checks of arguments that several nouns share. */
#include "core/checks.h"

#include "core/process.h"

#include <inttypes.h>

mtb_status mtbi_check_given(const void *pointer, const char *what, mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_process(error, function));
    if (pointer) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "`%s` is NULL", what);
}

mtb_status mtbi_check_range(size_t offset, size_t length, size_t limit, const char *what, mtb_error **error,
                            const char *function) {
    if (length == 0) return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the range of the %s is empty", what);
    if (offset > limit || length > limit - offset)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "%zu bytes at offset %zu of the %s, which has %zu bytes",
                         length, offset, what, limit);
    return MTB_OK;
}

mtb_status mtbi_check_multiple(size_t value, size_t multiple, const char *what, mtb_error **error,
                               const char *function) {
    if (value % multiple == 0) return MTB_OK;
    return mtbi_fail(error, function, MTB_MISALIGNED, "the %s is %zu, not a multiple of %zu", what, value, multiple);
}

mtb_status mtbi_fail_device(const mtb_device *expected, const mtb_device *device, const char *what, mtb_error **error,
                            const char *function) {
    return mtbi_fail(error, function, MTB_WRONG_DEVICE,
                     "the %s is of device %" PRIx64 " (%s), the rest of device %" PRIx64 " (%s)", what,
                     device->info.registry_id, device->info.name, expected->info.registry_id, expected->info.name);
}
