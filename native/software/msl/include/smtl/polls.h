/* Threads that wait for atomics to change. Threads of a threadgroup do not preempt each other, so a thread that
 * executes atomic functions in vain has to let the others run. The source does not tell which do. So each atomic
 * function counts, and after some that a thread has executed, the next few are compared. */
#ifndef SMTL_POLLS_H
#define SMTL_POLLS_H

#include "exchange.h"
#include "touch.h"

namespace smtl {

/* Where in the source an atomic function is called. */
enum class site : uint32_t {
};

/* What an atomic function has done. */
enum class step {
    read, /* it left the value as it was: it can do nothing else, or only if it finds another value */
    kept, /* it left the value as it was, and that may be all that the thread wanted: a maximum */
    changed,
    stored, /* without a look at the value before */
};

/* Steps are compared with as many before. A thread may look at some atomics in turns. */
constexpr uint8_t steps_compared = 4;
/* As many steps pass before the next are compared: more each time, up to where the thread lets others run in any case.
 * Then the sum of all is a prime, lest a thread stop at the same place of a loop again and again. */
constexpr uint16_t fewest_steps_between = 16, most_steps_between = 1016;
/* The same after the thread has perhaps not waited, but worked: it takes a lock and returns it, say. */
constexpr int32_t steps_of_work = 128;
/* If atomics change, a thread that waits stops at the next step instead once in as many times: it may hold what the
 * others wait for, and be about to return it. */
constexpr uint8_t stops_before_a_later_one = 16;

/* Threads of a kernel that polls may still run one after another, in a plain loop; each begins here. Few come to the
 * comparisons. */
SMTL_INLINE void begin_polling_thread(smtl_core *core, uint32_t thread) {
    constexpr int32_t steps_at_first = 64;
    core->thread = thread;
    core->atomics_left = steps_at_first;
}

/* Nothing but the constant lives across the switch: the stack of a thread that waits does not change. */
SMTL_INLINE void stop_at_step(smtl_core *core, site where, int32_t steps_left, const void *caller) {
    enter<offsetof(smtl_core, enter_poll)>(core, core->thread, uint32_t(where), caller, 0);
    current_core()->atomics_left = steps_left;
}

/* A thread waits if it finds a value in an atomic that it has found there before, or if it leaves the value there that
 * it has found there before: a try to take a lock, taken back. */
SMTL_UNINSTRUMENTED __attribute__((noinline, cold, unused, preserve_most)) static void
compare_step(smtl_core *core, const volatile void *object, uint32_t before, uint32_t after, step how, site where) {
    const void *const caller = __builtin_return_address(0);
    smtl_poll &earlier = core->polls[core->thread];
    if (!core->threads_apart && core->comparing_thread != core->thread) {
        core->comparing_thread = core->thread;
        earlier = {};
    }
    core->atomics_left = 1;
    if (earlier.stops_later) {
        earlier.stops_later = false;
        return stop_at_step(core, where, 1, caller);
    }
    const bool own = how == step::changed || how == step::stored;
    if (earlier.object == object && earlier.value == after && (!own || earlier.changed)) {
        earlier.left = steps_compared;
        earlier.between = 0;
        earlier.stops_later = core->atomics_changed != 0 && ++earlier.stops % stops_before_a_later_one == 0;
        if (earlier.stops_later) return;
        if (how == step::read) return stop_at_step(core, where, 1, caller);
        return stop_at_step(core, where, steps_of_work, caller);
    }
    if (earlier.left == 0) {
        earlier.object = how == step::stored ? nullptr : object;
        earlier.value = before;
        earlier.changed = how == step::changed;
        earlier.left = steps_compared;
    } else if (--earlier.left == 0) {
        constexpr uint16_t growth = 8;
        if (earlier.between == most_steps_between) return stop_at_step(core, where, most_steps_between, caller);
        earlier.between = earlier.between == 0 ? fewest_steps_between : uint16_t(earlier.between * growth);
        if (earlier.between > most_steps_between) earlier.between = most_steps_between;
        core->atomics_left = earlier.between;
    }
}

template <class T> SMTL_INLINE uint32_t bits_of(T value) {
    if constexpr (sizeof(T) == sizeof(uint64_t)) return uint32_t(value) ^ uint32_t(value >> 32);
    uint32_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value < sizeof bits ? sizeof value : sizeof bits);
    return bits;
}

/* An atomic function has found `before` and left `after`. */
template <class T> SMTL_INLINE void count_step(const volatile void *object, T before, T after, step how, site where) {
    if (!polling) return;
    smtl_core *const core = current_core();
    if (how == step::changed || how == step::stored) core->atomics_changed = 1;
    if (__builtin_expect(--core->atomics_left <= 0, false))
        compare_step(core, object, bits_of(before), bits_of(after), how, where);
}

/* What an atomic function has found. The kernel polls if this is of use to anybody: else the optimiser drops the mark.
 */
template <class T> SMTL_INLINE T found(T value) {
    if constexpr (__is_integral(T)) {
        mark_polling(value);
        return value;
    } else {
        return __builtin_bit_cast(T, found(__builtin_bit_cast(uint32_t, value)));
    }
}

}  // namespace smtl

#endif
