#include "link.h"

#include "clock.h"
#include "settings.h"
#include <errno.h>

bool smtl_link_enabled(void) { return smtl_settings_get()->link.bytes_per_second > 0; }

void smtl_link_end(uint64_t begin_ns, size_t size) {
    const smtl_link_speed *link = &smtl_settings_get()->link;
    const double seconds = link->latency + (double)size / link->bytes_per_second;
    /* Rounded up, since the time is a lower bound. */
    const struct timespec arrival = smtl_timespec(begin_ns + (uint64_t)(seconds * SMTL_SECOND_NS) + 1);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &arrival, NULL) == EINTR) continue;
}
