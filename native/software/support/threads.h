/* Threads of the software Metal's own. Signals that are sent to the process are for the program's threads: one that
 * waits with sigwait or reads a signalfd blocks the signal in all threads that it knows of, and a thread that had the
 * signal open would let it end the process. Faults stay with the thread that causes them. */
#ifndef SMTL_THREADS_H
#define SMTL_THREADS_H

#include <signal.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the watchdog of SOFTWARE_METAL_TIMEOUT sends to threads that run kernels. */
enum {
    SMTL_WATCHDOG_SIGNAL = SIGVTALRM
};

/* Starts a detached thread; false if the system gives none. */
bool smtl_start_thread(void *(*function)(void *), void *argument);

#ifdef __cplusplus
}
#endif
#endif
