/* Making errors. Each function returns the status that it was given, so that `return mtbi_fail(...)` reads as it acts.
 * `error` may be NULL throughout; `function` is the ABI function to blame and must be a literal. */
#ifndef MTBI_ERRORS_H
#define MTBI_ERRORS_H

#include "metal_bridge.h"

#include <stdarg.h>

mtb_status mtbi_fail(mtb_error **error, const char *function, mtb_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same with the code and domain of an NSError. */
mtb_status mtbi_fail_with_code(mtb_error **error, const char *function, mtb_status status, int64_t code,
                               const char *domain, const char *message);

/* vsnprintf that writes numbers with a point, whatever locale the program has set: in platform/. */
int mtbi_vsnprintf(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* What this thread's last failure was. For who called a function that returned NULL, and returns a status. */
mtb_status mtbi_last_failure(void);

/* Every fallible function begins with this. */
static inline void mtbi_error_clear(mtb_error **error) {
    if (error) *error = NULL;
}

/* Forgets an error, for another try. */
static inline void mtbi_error_drop(mtb_error **error) {
    if (error) {
        mtb_error_release(*error);
        *error = NULL;
    }
}

/* In a function of the ABI: blames that function. */
#define FAIL(error, status, ...) mtbi_fail(error, __func__, status, __VA_ARGS__)

#ifdef __OBJC__
#import <Foundation/Foundation.h>

/* Copies `problem` out of the autorelease pool; `message` is used if `problem` is nil or says nothing. */
mtb_status mtbi_fail_with_nserror(mtb_error **error, const char *function, mtb_status status, NSError *problem,
                                  const char *message);
/* For an exception that Metal raised. */
mtb_status mtbi_fail_with_exception(mtb_error **error, const char *function, id exception);
#endif

#endif
