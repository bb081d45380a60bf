#include "SMTLDispatchTime.h"

#define NANOSECONDS 1000000000ull

/* The highest bit is set in moments of the wall clock, such as DISPATCH_WALLTIME_NOW, and clear in those of the
 * monotonic clock. */
static const uint64_t wall = 1ull << 63;
static const uint64_t latest = (1ull << 62) - 1;

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

uint64_t smtl_monotonic_now(void) { return now(CLOCK_MONOTONIC); }

/* `base` and `delta` together, or DISPATCH_TIME_FOREVER; never before the clock's beginning. */
static dispatch_time_t after(uint64_t base, int64_t delta, uint64_t clock) {
    if (delta < 0) {
        const uint64_t back = 0 - (uint64_t)delta;
        return (back < base ? base - back : 1) | clock;
    }
    return (uint64_t)delta > latest - base ? DISPATCH_TIME_FOREVER : (base + (uint64_t)delta) | clock;
}

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta) {
    if (when == DISPATCH_TIME_FOREVER) return when;
    if (when == DISPATCH_WALLTIME_NOW) return after(now(CLOCK_REALTIME), delta, wall);
    return after(when == DISPATCH_TIME_NOW ? smtl_monotonic_now() : when & ~wall, delta, when & wall);
}

dispatch_time_t dispatch_walltime(const struct timespec *when, int64_t delta) {
    const uint64_t base =
        when == NULL ? now(CLOCK_REALTIME) : (uint64_t)when->tv_sec * NANOSECONDS + (uint64_t)when->tv_nsec;
    return base > latest ? DISPATCH_TIME_FOREVER : after(base, delta, wall);
}

uint64_t smtl_deadline(dispatch_time_t when) {
    if (when == DISPATCH_TIME_FOREVER) return SMTL_NO_DEADLINE;
    const uint64_t start = smtl_monotonic_now();
    if (when == DISPATCH_TIME_NOW || when == DISPATCH_WALLTIME_NOW) return start;
    if (!(when & wall)) return when;
    const uint64_t wall_now = now(CLOCK_REALTIME);
    const uint64_t moment = when & ~wall;
    return moment <= wall_now ? start : start + (moment - wall_now);
}

void smtl_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool smtl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline) {
    if (deadline == SMTL_NO_DEADLINE) return pthread_cond_wait(condition, mutex) == 0;
    const struct timespec time = {(time_t)(deadline / NANOSECONDS), (long)(deadline % NANOSECONDS)};
    return pthread_cond_timedwait(condition, mutex, &time) == 0;
}
