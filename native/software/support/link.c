#include "link.h"

#include "settings.h"
#include <errno.h>

#define NS_PER_SECOND 1000000000

bool smtl_link_enabled(void) { return smtl_settings_get()->link.bytes_per_second > 0; }

struct timespec smtl_link_begin(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}

void smtl_link_end(struct timespec begin, size_t size) {
    const smtl_link_speed *link = &smtl_settings_get()->link;
    const double seconds = link->latency + (double)size / link->bytes_per_second;
    const time_t whole = (time_t)seconds;
    /* Rounded up, since the time is a lower bound. */
    const long ns = begin.tv_nsec + (long)((seconds - (double)whole) * NS_PER_SECOND) + 1;
    const struct timespec arrival = {begin.tv_sec + whole + ns / NS_PER_SECOND, ns % NS_PER_SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &arrival, NULL) == EINTR) continue;
}
