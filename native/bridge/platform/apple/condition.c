/* Waits for conditions, which here take the time that is left. */
#include "core/clock.h"

#include <time.h>

void mtbi_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline) {
    uint64_t left = mtbi_time_left(deadline);
    struct timespec time = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
    pthread_cond_timedwait_relative_np(condition, mutex, &time);
}
