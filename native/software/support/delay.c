#include "delay.h"

#include "clock.h"
#include "random.h"
#include "settings.h"
#include <stdint.h>

void smtl_delay(void) {
    static uint64_t calls;
    const smtl_settings *settings = smtl_settings_get();
    if (settings->delay == 0) return;
    const uint64_t call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    const uint64_t random = smtl_mix(settings->shuffle.value ^ smtl_mix(call));
    if ((random & 1) != 0) {
        const uint64_t ns = (random >> 1) % (settings->delay * 1000 + 1);
        const struct timespec time = smtl_timespec(ns);
        nanosleep(&time, NULL);
    }
}
