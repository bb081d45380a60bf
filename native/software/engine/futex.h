/* Sleeping until a 32-bit word changes. */
#ifndef SMTL_FUTEX_H
#define SMTL_FUTEX_H

#include <atomic>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smtl {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

/* Returns at once if the word does not hold `expected`; may return early. */
inline void futex_wait(std::atomic<uint32_t> &word, uint32_t expected) {
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

inline void futex_wake(std::atomic<uint32_t> &word, uint32_t count) {
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

inline void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace smtl

#endif
