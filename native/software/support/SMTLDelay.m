#include "SMTLDelay.h"

#include "SMTLConfig.h"
#include <time.h>

static uint64_t calls;

/* The finalizer of splitmix64: neighbours have nothing in common. */
static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

void smtl_delay(void) {
    const smtl_config *config = smtl_config_get();
    if (config->delay == 0) {
        return;
    }
    const uint64_t call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    const uint64_t random = mix(config->shuffle_seed + call * 0x9e3779b97f4a7c15);
    if ((random & 1) != 0) {
        const uint64_t ns = (random >> 1) % (config->delay * 1000ull + 1);
        const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
        nanosleep(&time, NULL);
    }
}
