/* SOFTWARE_METAL_TIMEOUT: a signal to a thread whose kernels take longer. */
#ifndef SMTL_WATCHDOG_H
#define SMTL_WATCHDOG_H

#include <csignal>

namespace smtl {

/* What the thread gets, again and again every few milliseconds: it may not be in a kernel's code at the first. */
constexpr int watchdog_signal = SIGVTALRM;

/* While it lives, time runs. */
class watchdog_scope {
public:
    watchdog_scope();
    ~watchdog_scope();
    watchdog_scope(const watchdog_scope &) = delete;
    watchdog_scope &operator=(const watchdog_scope &) = delete;
};

/* The calling thread's time is up: a signal may arrive late, in the next kernel's time. Callable in a signal handler.
 */
bool watchdog_expired();

} // namespace smtl

#endif
