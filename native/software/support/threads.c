#include "threads.h"

#include "settings.h"
#include <pthread.h>
#include <stddef.h>

static void block_signals(sigset_t *before) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&blocked, faults[i]);
    /* Without a timeout nothing handles it for us: it is the program's, as others are. */
    if (smtl_settings_get()->timeout > 0) sigdelset(&blocked, SMTL_WATCHDOG_SIGNAL);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

bool smtl_start_thread(void *(*function)(void *), void *argument) {
    sigset_t before;
    block_signals(&before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const bool started = pthread_create(&thread, &attributes, function, argument) == 0;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
