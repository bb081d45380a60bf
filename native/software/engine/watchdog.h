/* SOFTWARE_METAL_TIMEOUT: sends a signal to a thread whose kernel takes longer. */
#ifndef SMTL_WATCHDOG_H
#define SMTL_WATCHDOG_H

#include "support/threads.h"

namespace smtl {

/* The signal that such a thread gets every few milliseconds: the thread may not be in a kernel's code at the first. */
constexpr int watchdog_signal = SMTL_WATCHDOG_SIGNAL;

/* While it lives, the calling thread has a deadline. */
class watchdog_scope {
public:
    watchdog_scope();
    ~watchdog_scope();
    watchdog_scope(const watchdog_scope &) = delete;
    watchdog_scope &operator=(const watchdog_scope &) = delete;
};

/* Whether the watchdog has sent the calling thread the signal that it handles, and not the program, which may use the
 * same one. Signal handlers call this, once for each signal. */
bool watchdog_take_signal();

/* Whether the calling thread's deadline has passed: a signal may arrive late, in the time of the next kernel. Signal
 * handlers may call this. */
bool watchdog_expired();

}  // namespace smtl

#endif
