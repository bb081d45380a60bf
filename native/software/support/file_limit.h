/* Writes beyond the process's limit for files (RLIMIT_FSIZE): the system's way to refuse one is a signal that ends the
 * process. For the writes of the software Metal it is an error like a full disk. */
#ifndef SMTL_FILE_LIMIT_H
#define SMTL_FILE_LIMIT_H

#include <signal.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From here until smtl_end_file_limit_error a write of this thread beyond the limit fails with EFBIG and ends nothing.
 */
void smtl_begin_file_limit_error(sigset_t *before);
/* Keeps errno. */
void smtl_end_file_limit_error(const sigset_t *before);

/* Writes all bytes and closes the descriptor, whatever comes of it; 0, or the system's number for why not. */
int smtl_write_and_close(int file, const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
