#include "watchdog.h"

#include <ctime>

#include <sys/syscall.h>
#include <unistd.h>

#include "settings.h"

namespace smtl {
namespace {

constexpr long repeat_ns = 10'000'000;

class thread_timer {
  public:
    thread_timer() {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = watchdog_signal;
        event._sigev_un._tid = pid_t(syscall(SYS_gettid));
        made_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    }
    ~thread_timer() {
        if (made_)
            timer_delete(timer_);
    }
    thread_timer(const thread_timer &) = delete;
    thread_timer &operator=(const thread_timer &) = delete;

    /* 0 stops it. */
    void set(double seconds) {
        itimerspec times{};
        times.it_value.tv_sec = time_t(seconds);
        times.it_value.tv_nsec = long((seconds - double(times.it_value.tv_sec)) * 1e9);
        times.it_interval.tv_nsec = repeat_ns;
        if (made_)
            timer_settime(timer_, 0, &times, nullptr);
    }

  private:
    timer_t timer_{};
    bool made_ = false;
};

thread_timer &timer_of_thread() {
    static thread_local thread_timer timer;
    return timer;
}

} // namespace

watchdog_scope::watchdog_scope() {
    if (current_settings().timeout > 0)
        timer_of_thread().set(current_settings().timeout);
}

watchdog_scope::~watchdog_scope() {
    if (current_settings().timeout > 0)
        timer_of_thread().set(0);
}

} // namespace smtl
