/* Checks of arguments that several folders share. */
#include "core/checks.h"

#include "core/process.h"

mtb_status mtbi_check_given(const void *pointer, const char *what, mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_process(error, function));
    if (pointer) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "`%s` is NULL", what);
}

mtb_status mtbi_check_range(size_t offset, size_t length, size_t limit, const char *what, mtb_error **error,
                            const char *function) {
    if (length == 0) return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the range of the %s is empty", what);
    if (offset > limit || length > limit - offset)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "the range ends past the end of the %s: %zu bytes at offset %zu, but it has %zu bytes", what,
                         length, offset, limit);
    return MTB_OK;
}

mtb_status mtbi_check_multiple(size_t value, size_t multiple, const char *what, mtb_error **error,
                               const char *function) {
    if (value % multiple == 0) return MTB_OK;
    return mtbi_fail(error, function, MTB_MISALIGNED, "the %s is %zu, not a multiple of %zu", what, value, multiple);
}
