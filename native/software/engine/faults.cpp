#include "faults.h"

#include <csignal>
#include <cstdint>
#include <mutex>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "context.h"
#include "core.h"
#include "watchdog.h"
#include "support/settings.h"

namespace smtl {
namespace {

constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
struct sigaction previous[NSIG];

thread_local core *running_core = nullptr;

#if defined(__x86_64__)
const void *stack_pointer(const ucontext_t &faulted) {
    return reinterpret_cast<void *>(faulted.uc_mcontext.gregs[REG_RSP]);
}
const void *instruction_pointer(const ucontext_t &faulted) {
    return reinterpret_cast<void *>(faulted.uc_mcontext.gregs[REG_RIP]);
}
void continue_with(ucontext_t &faulted, const smtl_context &next) {
    constexpr greg_t direction_flag = 0x400;
    greg_t *const registers = faulted.uc_mcontext.gregs;
    registers[REG_RIP] = reinterpret_cast<greg_t>(next.instruction);
    registers[REG_RSP] = reinterpret_cast<greg_t>(next.stack_pointer);
    registers[REG_RBP] = reinterpret_cast<greg_t>(next.frame_pointer);
    registers[REG_EFL] &= ~direction_flag;
}
#elif defined(__aarch64__)
const void *stack_pointer(const ucontext_t &faulted) { return reinterpret_cast<void *>(faulted.uc_mcontext.sp); }
const void *instruction_pointer(const ucontext_t &faulted) { return reinterpret_cast<void *>(faulted.uc_mcontext.pc); }
void continue_with(ucontext_t &faulted, const smtl_context &next) {
    faulted.uc_mcontext.pc = reinterpret_cast<uintptr_t>(next.instruction);
    faulted.uc_mcontext.sp = reinterpret_cast<uintptr_t>(next.stack_pointer);
    faulted.uc_mcontext.regs[29] = reinterpret_cast<uintptr_t>(next.frame_pointer);
}
#endif

/* Whether an instruction of this thread has caused the signal. Timers of the process send theirs with a code that some
 * faults have too, but no fault causes the watchdog's signal. */
bool is_fault(int number, const siginfo_t &info) { return number != watchdog_signal && info.si_code > 0; }

/* Leaves the signal to the action that was there before. */
void pass_on(int number, siginfo_t *info, void *context) {
    const struct sigaction &action = previous[number];
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
        /* Linux lets nobody ignore a fault. */
        const bool fault = is_fault(number, *info);
        if (action.sa_handler == SIG_IGN && !fault) return;
        signal(number, SIG_DFL);
        /* The instruction of a fault runs again, and the fault comes again. What was sent does not, nor does a
         * breakpoint. */
        if (!fault || number == SIGTRAP) raise(number);
    } else if (action.sa_flags & SA_SIGINFO) {
        action.sa_sigaction(number, info, context);
    } else {
        action.sa_handler(number);
    }
}

void handle_fault(int number, siginfo_t *info, void *raw_context) {
    auto &context = *static_cast<ucontext_t *>(raw_context);
    core *faulted = running_core;
    if (faulted == nullptr || !is_fault(number, *info) || !faulted->owns(stack_pointer(context))) {
        pass_on(number, info, raw_context);
        return;
    }
    /* Of an address that no pointer can hold, x86-64 processors do not say which it was. */
    const bool known = number != SIGSEGV || info->si_code != SI_KERNEL;
    continue_with(context, *faulted->abandon_kernel(number, known ? info->si_addr : unknown_address()));
}

/* The kernel's time is up, or the program uses the signal itself. Only a kernel's own code can be abandoned at any
 * instruction: the scheduler or a library may hold a lock. */
void handle_timeout(int number, siginfo_t *info, void *raw_context) {
    if (!watchdog_take_signal()) {
        pass_on(number, info, raw_context);
        return;
    }
    auto &context = *static_cast<ucontext_t *>(raw_context);
    core *late = running_core;
    if (late != nullptr && watchdog_expired() && late->owns(stack_pointer(context)) &&
        late->is_kernel_code(instruction_pointer(context)))
        continue_with(context, *late->abandon_kernel(number, nullptr));
}

/* The handlers' own stack, since the kernel may have overflowed the one it runs on. A thread that already has a signal
 * stack keeps that one. */
class signal_stack {
public:
    signal_stack() {
        stack_t present{};
        if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
        const long least = sysconf(_SC_SIGSTKSZ);
        size_ = size_t(least > 0 ? least : 0) + 64 * 1024;
        memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory_ == MAP_FAILED) return;
        stack_t ours{};
        ours.ss_sp = memory_;
        ours.ss_size = size_;
        sigaltstack(&ours, nullptr);
    }
    ~signal_stack() {
        if (memory_ == MAP_FAILED) return;
        stack_t present{};
        if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_) {
            stack_t none{};
            none.ss_flags = SS_DISABLE;
            sigaltstack(&none, nullptr);
        }
        munmap(memory_, size_);
    }
    signal_stack(const signal_stack &) = delete;
    signal_stack &operator=(const signal_stack &) = delete;

private:
    void *memory_ = MAP_FAILED;
    size_t size_ = 0;
};

}  // namespace

void install_fault_handlers() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action{};
        action.sa_sigaction = handle_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        for (int number : fault_signals) sigaction(number, &action, &previous[number]);
        if (smtl_settings_get()->timeout > 0) {
            action.sa_sigaction = handle_timeout;
            action.sa_flags |= SA_RESTART;
            sigaction(watchdog_signal, &action, &previous[watchdog_signal]);
        }
    });
}

void set_running_core(core &running) { running_core = &running; }

fault_scope::fault_scope(core &running) : outer_(running_core) {
    [[clang::always_destroy]] static thread_local signal_stack stack;
    (void)stack;
    running_core = &running;
}

fault_scope::~fault_scope() { running_core = outer_; }

}  // namespace smtl
