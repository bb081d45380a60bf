/* Errors out of what Foundation reports them with. Called inside a guard: what is autoreleased here dies with it. */
#import "core/errors.h"

mtb_status mtbi_fail_with_nserror(mtb_error **error, const char *function, mtb_status status, NSError *problem,
                                  const char *message) {
    if (!problem) return mtbi_fail(error, function, status, "%s", message);
    const char *text = [[problem localizedDescription] UTF8String];
    const char *domain = [[problem domain] UTF8String];
    return mtbi_fail_with_code(error, function, status, [problem code], domain ? domain : "",
                               text && *text ? text : message);
}

mtb_status mtbi_fail_with_exception(mtb_error **error, const char *function, id exception) {
    if (![exception isKindOfClass:[NSException class]])
        return mtbi_fail(error, function, MTB_EXCEPTION, "Metal threw an object that is not an NSException");
    const char *name = [[exception name] UTF8String];
    const char *reason = [[exception reason] UTF8String];
    return mtbi_fail(error, function, MTB_EXCEPTION, "%s: %s", name ? name : "exception",
                     reason ? reason : "no reason given");
}
