#ifndef SMTL_DISPATCH_SEMAPHORE_H
#define SMTL_DISPATCH_SEMAPHORE_H

#include <dispatch/object.h>
#include <dispatch/time.h>

DISPATCH_BEGIN

DISPATCH_DECLARE_OBJECT(semaphore);

/* NULL for a negative value. */
dispatch_semaphore_t _Nullable dispatch_semaphore_create(intptr_t value)
    SMTL_DISPATCH_SYMBOL(dispatch_semaphore_create);
/* 0 when it was signalled, something else when the time is over. */
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout)
    SMTL_DISPATCH_SYMBOL(dispatch_semaphore_wait);
/* Other than 0 if that wakes a thread. */
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore) SMTL_DISPATCH_SYMBOL(dispatch_semaphore_signal);

DISPATCH_END
#endif
