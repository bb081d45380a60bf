/* Checks of arguments that several nouns share. Plain C; each reports through `error` and returns MTB_OK or why not. */
#ifndef MTBI_CHECKS_H
#define MTBI_CHECKS_H

#include "core/errors.h"

/* `what` is a handle or a pointer that must not be NULL. Every call on a handle begins with this check, so it also
 * refuses calls in a child of fork(). */
mtb_status mtbi_check_given(const void *pointer, const char *what, mtb_error **error, const char *function);
/* offset .. offset + length, not empty, is inside `limit` bytes. */
mtb_status mtbi_check_range(size_t offset, size_t length, size_t limit, const char *what, mtb_error **error,
                            const char *function);
mtb_status mtbi_check_multiple(size_t value, size_t multiple, const char *what, mtb_error **error,
                               const char *function);

/* In a function of the ABI: the named argument must not be NULL. */
#define GIVEN(argument) mtbi_check_given(argument, #argument, error, __func__)

/* In a function that returns a status: returns what the check found, unless that is MTB_OK. */
#define REQUIRE(check)                             \
    do {                                           \
        mtb_status required_ = (check);            \
        if (required_ != MTB_OK) return required_; \
    } while (0)

#endif
