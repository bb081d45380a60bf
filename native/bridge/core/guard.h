/* The guard around the body of every function that sends a message.
 *
 *     mtb_status mtb_something(mtb_thing *thing, mtb_error **error)
 *     {
 *         MTBI_ENTER
 *         ...
 *         return MTB_OK;
 *         MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
 *     }
 *
 * The pool is the function's own, whatever the calling thread has; a `return` in the body drains it. The exception is
 * caught inside the pool, since the exception object itself is autoreleased. Without an exception a guard only makes
 * and drains the pool, and counts the thread's calls. */
#ifndef MTBI_GUARD_H
#define MTBI_GUARD_H

#include "core/callback_scope.h"

#define MTBI_ENTER                                                                  \
    __attribute__((cleanup(mtbi_call_end), unused)) char call_ = mtbi_call_begin(); \
    @autoreleasepool {                                                              \
        @try {

/* What to return if Metal raised `exception`; nothing in a void function. */
#define MTBI_LEAVE(value)   \
    }                       \
    @catch (id exception) { \
        (void)exception;    \
        return value;       \
    }                       \
    }

#endif
