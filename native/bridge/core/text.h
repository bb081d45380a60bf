/* Strings across the boundary. Called inside a guard. */
#ifndef MTBI_TEXT_H
#define MTBI_TEXT_H

#include "core/errors.h"

#import <Foundation/Foundation.h>

/* An autoreleased copy of a UTF-8 string. nil and MTB_INVALID_ARGUMENT for NULL or malformed UTF-8; `what` names the
 * string in the message. */
NSString *mtbi_string(const char *utf8, const char *what, mtb_error **error, const char *function);
/* The URL of a file, autoreleased; nil, with an error, if the path is NULL or not UTF-8. */
NSURL *mtbi_file_url(const char *path, mtb_error **error, const char *function);
/* The same for a file that is to be read; MTB_NOT_FOUND if it cannot be. */
NSURL *mtbi_readable_file_url(const char *path, mtb_error **error, const char *function);
/* A malloc'd copy; NULL for nil and if there is no memory. */
char *mtbi_copy_string(NSString *string);

/* Sets the label of anything that has one; NULL removes it. */
mtb_status mtbi_set_label(id labelled, const char *label, mtb_error **error, const char *function);
/* A malloc'd copy of the label, NULL if there is none. */
char *mtbi_copy_label(id labelled);

#endif
