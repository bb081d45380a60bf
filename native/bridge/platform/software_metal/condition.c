/* Waits for conditions, which here take a time of the monotonic clock. */
#define _GNU_SOURCE
#include "core/clock.h"

#include <time.h>

void mtbi_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline) {
    struct timespec time = {.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000)};
    pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &time);
}
