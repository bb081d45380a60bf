#ifndef SMTL_DISPATCH_OBJECT_H
#define SMTL_DISPATCH_OBJECT_H

#include <dispatch/base.h>

DISPATCH_BEGIN

void dispatch_retain(dispatch_object_t object) SMTL_DISPATCH_SYMBOL(dispatch_retain);
void dispatch_release(dispatch_object_t object) SMTL_DISPATCH_SYMBOL(dispatch_release);

void *_Nullable dispatch_get_context(dispatch_object_t object) SMTL_DISPATCH_SYMBOL(dispatch_get_context);
void dispatch_set_context(dispatch_object_t object, void *_Nullable context) SMTL_DISPATCH_SYMBOL(dispatch_set_context);
/* Called on a global queue with the object's context when the object is gone; not if the context is NULL. */
void dispatch_set_finalizer_f(dispatch_object_t object, dispatch_function_t _Nullable finalizer)
    SMTL_DISPATCH_SYMBOL(dispatch_set_finalizer_f);

/* What a queue has not begun waits until it was resumed as often as it was suspended. */
void dispatch_suspend(dispatch_object_t object) SMTL_DISPATCH_SYMBOL(dispatch_suspend);
void dispatch_resume(dispatch_object_t object) SMTL_DISPATCH_SYMBOL(dispatch_resume);

DISPATCH_END
#endif
