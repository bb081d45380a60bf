/* Strings across the boundary. */
#import "core/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What has a label: devices' objects share the property without a protocol for it. */
@protocol MTBILabelled
@property (nullable, copy, atomic) NSString *label;
@end

NSString *mtbi_string(const char *utf8, const char *what, mtb_error **error, const char *function) {
    if (!utf8) {
        mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "%s is NULL", what);
        return nil;
    }
    NSString *string = [NSString stringWithUTF8String:utf8];
    if (!string) mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "%s is not UTF-8", what);
    return string;
}

NSURL *mtbi_file_url(const char *path, mtb_error **error, const char *function) {
    NSString *name = mtbi_string(path, "the path", error, function);
    if (!name) return nil;
    /* Foundation takes `~` at the beginning for the user's own folder, as a shell does. */
    if ([name hasPrefix:@"~"]) name = [@"./" stringByAppendingString:name];
    return [NSURL fileURLWithPath:name];
}

NSURL *mtbi_readable_file_url(const char *path, mtb_error **error, const char *function) {
    NSURL *url = mtbi_file_url(path, error, function);
    if (!url || access(path, R_OK) == 0) return url;
    mtbi_fail(error, function, MTB_NOT_FOUND, "%s: %s", path, strerror(errno));
    return nil;
}

char *mtbi_copy_string(NSString *string) {
    const char *utf8 = [string UTF8String];
    return utf8 ? strdup(utf8) : NULL;
}

mtb_status mtbi_set_label(id labelled, const char *label, mtb_error **error, const char *function) {
    NSString *string = nil;
    if (label) {
        string = mtbi_string(label, "the label", error, function);
        if (!string) return MTB_INVALID_ARGUMENT;
    }
    [(id<MTBILabelled>)labelled setLabel:string];
    return MTB_OK;
}

char *mtbi_copy_label(id labelled) { return mtbi_copy_string([(id<MTBILabelled>)labelled label]); }
