/* Timeouts on condition variables, by the monotonic clock: somebody may set the wall clock during a wait. */
#include "core/clock.h"

#include <time.h>

uint64_t mtbi_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

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
    if (mtbi_time_left(deadline) == 0) return false;
    mtbi_condition_wait_until(condition, mutex, deadline);
    return true;
}
