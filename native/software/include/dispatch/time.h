#ifndef SMTL_DISPATCH_TIME_H
#define SMTL_DISPATCH_TIME_H

#include <dispatch/base.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define USEC_PER_SEC 1000000ull

/* A moment of the monotonic clock, or of the wall clock where dispatch_walltime made it. */
typedef uint64_t dispatch_time_t;

#define DISPATCH_TIME_NOW (0ull)
#define DISPATCH_TIME_FOREVER (~0ull)
#define DISPATCH_WALLTIME_NOW (~1ull)

DISPATCH_BEGIN

/* `delta` nanoseconds after `when`; DISPATCH_TIME_FOREVER where that is beyond what can be said. */
dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) SMTL_DISPATCH_SYMBOL(dispatch_time);
/* `delta` nanoseconds after the wall clock's `when`, NULL being now. A call that takes such a moment computes when it
 * comes; if somebody sets the clock after that, the call does not follow. */
dispatch_time_t dispatch_walltime(const struct timespec *_Nullable when, int64_t delta)
    SMTL_DISPATCH_SYMBOL(dispatch_walltime);

DISPATCH_END
#endif
