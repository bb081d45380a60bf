/* A process that has used Metal, and its children: see process.c. */
#ifndef MTBI_PROCESS_H
#define MTBI_PROCESS_H

#include "core/errors.h"

#include <stdatomic.h>

/* What mtb_process_is_forked returns, for those who ask often. */
extern atomic_bool mtbi_is_forked;

/* Before the first message to Metal: makes the process one whose children are refused. MTB_INVALID_STATE in such a
 * child. */
mtb_status mtbi_process_begin(mtb_error **error, const char *function);
/* MTB_INVALID_STATE in a child of a process that has used Metal. */
mtb_status mtbi_check_process(mtb_error **error, const char *function);

#endif
