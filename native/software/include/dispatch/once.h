#ifndef SMTL_DISPATCH_ONCE_H
#define SMTL_DISPATCH_ONCE_H

#include <dispatch/base.h>

DISPATCH_BEGIN

/* Static or global, and zero before the first call. */
typedef intptr_t dispatch_once_t;

/* Calls `work` the first time; whoever comes while it runs waits for its end. */
void dispatch_once_f(dispatch_once_t *predicate, void *_Nullable context, dispatch_function_t work)
    SMTL_DISPATCH_SYMBOL(dispatch_once_f);
#ifdef __BLOCKS__
void dispatch_once(dispatch_once_t *predicate, dispatch_block_t block) SMTL_DISPATCH_SYMBOL(dispatch_once);
#endif

DISPATCH_END
#endif
