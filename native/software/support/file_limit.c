#include "file_limit.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static sigset_t limit_signal(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    return signals;
}

void smtl_begin_file_limit_error(sigset_t *before) {
    const sigset_t signals = limit_signal();
    pthread_sigmask(SIG_BLOCK, &signals, before);
}

void smtl_end_file_limit_error(const sigset_t *before) {
    const int cause = errno;
    const sigset_t signals = limit_signal();
    const struct timespec now = {0};
    /* A program that blocks the signal itself takes it itself. */
    if (!sigismember(before, SIGXFSZ)) (void)sigtimedwait(&signals, NULL, &now);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = cause;
}

int smtl_write_and_close(int file, const void *bytes, size_t length) {
    sigset_t before;
    const uint8_t *rest = bytes;
    int cause = 0;
    smtl_begin_file_limit_error(&before);
    while (length > 0 && cause == 0) {
        const ssize_t count = write(file, rest, length);
        if (count >= 0) {
            rest += count;
            length -= (size_t)count;
        } else if (errno != EINTR) {
            cause = errno;
        }
    }
    /* Some file systems say only here that there is no room. */
    if (close(file) != 0 && cause == 0) cause = errno;
    smtl_end_file_limit_error(&before);
    return cause;
}
