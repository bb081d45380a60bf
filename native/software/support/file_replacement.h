/* Files that appear whole or not at all. */
#ifndef SMTL_FILE_REPLACEMENT_H
#define SMTL_FILE_REPLACEMENT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts a new file in the place of what `path` names, at once: nobody sees a part of it, and if it cannot be written,
 * what was there stays. The file has the rights of the one before it. What is not a regular file is written to: as root
 * a rename would put a file in the place of /dev/null. 0, or the system's number for why not. */
int smtl_replace_file(const char *path, const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
