/* Timeouts on condition variables. macOS can wait on the wall clock only, and somebody may set that clock during the
 * wait. So a long wait is cut into slices, and the monotonic clock measures the deadline. */
#include "core/clock.h"

#include <time.h>

enum {
    NANOSECONDS = 1000000000,
    SLICE = NANOSECONDS / 4
};

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

uint64_t mtbi_now(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t mtbi_deadline(uint64_t timeout_ns) {
    uint64_t start = mtbi_now();
    return timeout_ns < UINT64_MAX - start ? start + timeout_ns : UINT64_MAX;
}

uint64_t mtbi_time_left(uint64_t deadline) {
    if (deadline == UINT64_MAX) return UINT64_MAX;
    uint64_t present = mtbi_now();
    return present < deadline ? deadline - present : 0;
}

bool mtbi_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline) {
    if (deadline == UINT64_MAX) {
        pthread_cond_wait(condition, mutex);
        return true;
    }
    uint64_t left = mtbi_time_left(deadline);
    if (left == 0) return false;
    uint64_t until = read_clock(CLOCK_REALTIME) + (left < SLICE ? left : SLICE);
    struct timespec time = {.tv_sec = (time_t)(until / NANOSECONDS), .tv_nsec = (long)(until % NANOSECONDS)};
    pthread_cond_timedwait(condition, mutex, &time);
    return true;
}
