/* The clock that everything here waits by. */
#ifndef SMTL_CLOCK_H
#define SMTL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SMTL_SECOND_NS 1000000000u

static inline struct timespec smtl_timespec(uint64_t ns) {
    struct timespec time;
    time.tv_sec = (time_t)(ns / SMTL_SECOND_NS);
    time.tv_nsec = (long)(ns % SMTL_SECOND_NS);
    return time;
}

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t smtl_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SMTL_SECOND_NS + (uint64_t)now.tv_nsec;
}

#endif
