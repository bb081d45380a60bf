#include "watchdog.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include "support/clock.h"
#include "support/settings.h"

namespace smtl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_tick{5}, longest_tick{1000}, repeat_tick{10};

/* A thread that runs kernels. A launch begins and ends with a store here, and needs no system call. */
struct watched {
    pid_t thread;
    std::atomic<int64_t> deadline{0}; /* 0: it runs no kernel */
    std::atomic<bool> signalled{false}; /* and the thread has not handled the signal */
    watched *next = nullptr;
};

/* One thread watches all that run kernels. The monitor is never destroyed: its thread may outlive main. */
class monitor {
public:
    static monitor &shared() {
        static monitor &made = *new monitor;
        return made;
    }

    void add(watched &entry) {
        const std::lock_guard lock(mutex_);
        entry.next = first_;
        first_ = &entry;
        /* Without a thread launches have no deadline, until a later one finds a thread. */
        if (!started_) started_ = smtl_start_thread([](void *) -> void * { shared().watch(); }, nullptr);
    }

    /* Afterwards nothing signals the thread any more. */
    void remove(watched &entry) {
        const std::lock_guard lock(mutex_);
        for (watched **link = &first_; *link != nullptr; link = &(*link)->next)
            if (*link == &entry) {
                *link = entry.next;
                break;
            }
    }

private:
    [[noreturn]] void watch() {
        constexpr int ticks_per_timeout = 16;
        const milliseconds part(int64_t(smtl_settings_get()->timeout * 1000 / ticks_per_timeout));
        const milliseconds tick = std::clamp(part, shortest_tick, longest_tick);
        for (;;) std::this_thread::sleep_for(signal_late() ? repeat_tick : tick);
    }

    bool signal_late() {
        bool late = false;
        const int64_t now = int64_t(smtl_now_ns());
        const std::lock_guard lock(mutex_);
        for (watched *entry = first_; entry != nullptr; entry = entry->next) {
            const int64_t deadline = entry->deadline.load(std::memory_order_relaxed);
            if (deadline == 0 || now < deadline) continue;
            late = true;
            if (entry->signalled.exchange(true)) continue; /* each signal is handled once */
            if (syscall(SYS_tgkill, getpid(), entry->thread, watchdog_signal) != 0) entry->signalled.store(false);
        }
        return late;
    }

    std::mutex mutex_;
    watched *first_ = nullptr;
    bool started_ = false;
};

class registration {
public:
    registration() {
        entry.thread = pid_t(syscall(SYS_gettid));
        monitor::shared().add(entry);
    }
    ~registration() { monitor::shared().remove(entry); }
    registration(const registration &) = delete;
    registration &operator=(const registration &) = delete;

    watched entry;
};

/* For the signal handler, which may not construct a thread-local object. It lasts as long as the thread: the last
 * signal may come late. */
thread_local watched *own_entry = nullptr;

watched &entry_of_thread() {
    [[clang::always_destroy]] static thread_local registration own;
    own_entry = &own.entry;
    return own.entry;
}

}  // namespace

watchdog_scope::watchdog_scope() {
    if (const double timeout = smtl_settings_get()->timeout; timeout > 0)
        entry_of_thread().deadline.store(int64_t(smtl_now_ns()) + int64_t(timeout * 1e9), std::memory_order_relaxed);
}

watchdog_scope::~watchdog_scope() {
    if (own_entry != nullptr) own_entry->deadline.store(0, std::memory_order_relaxed);
}

bool watchdog_take_signal() { return own_entry != nullptr && own_entry->signalled.exchange(false); }

bool watchdog_expired() {
    if (own_entry == nullptr) return false;
    const int64_t deadline = own_entry->deadline.load(std::memory_order_relaxed);
    return deadline != 0 && int64_t(smtl_now_ns()) >= deadline;
}

}  // namespace smtl
