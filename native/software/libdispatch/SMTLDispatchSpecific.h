/* What programs attach to a queue under keys of their own. */
#ifndef SMTL_DISPATCH_SPECIFIC_H
#define SMTL_DISPATCH_SPECIFIC_H

#include <dispatch/queue.h>

typedef struct smtl_specific smtl_specific;

/* Puts `context` under `key`; if it is NULL, nothing is under `key` any more. Returns what was there, for
 * smtl_specifics_free. */
smtl_specific *smtl_specifics_set(smtl_specific **list, const void *key, void *context, dispatch_function_t destructor);
void *smtl_specifics_get(const smtl_specific *list, const void *key);
/* Calls the destructors of a list. */
void smtl_specifics_free(smtl_specific *list);

#endif
