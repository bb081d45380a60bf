/* What the environment asks of the engine. Read once, at the first use. */
#ifndef SMTL_SETTINGS_H
#define SMTL_SETTINGS_H

#include <cstdint>

namespace smtl {

struct settings {
    /* SOFTWARE_METAL_THREADS: threads that take part in a dispatch, the calling one included. Default: one a core. */
    unsigned threads;
    /* SOFTWARE_METAL_SHUFFLE=<seed>: threadgroups, and the threads within them, run in an order that depends on the
     * seed alone; on one thread, so that a failure can be repeated. */
    bool shuffle;
    uint64_t shuffle_seed;
    /* SOFTWARE_METAL_TIMEOUT=<seconds>: a dispatch that takes longer fails. 0: none does. */
    double timeout;
    /* SOFTWARE_METAL_POISON=1: threadgroup memory is filled with NaNs (all bits set) before each threadgroup. */
    bool poison;
};

const settings &current_settings();

}  // namespace smtl

#endif
