/* Polls: a thread reads an atomic in a loop, perhaps until another thread changes it. Threads of a threadgroup do not
 * preempt each other, so the thread that polls in vain lets the others run. The translation finds the loops and gives
 * the atomic functions in them a last argument; see msl/passes/polls.cpp. */
#ifndef SMTL_POLLS_H
#define SMTL_POLLS_H

#include "exchange.h"

namespace smtl {

struct in_loop {
    uint32_t site;
    SMTL_INLINE explicit in_loop(SMTL_SITE) : site(site) {}
};

/* The last argument of functions in loops whose value nobody uses: they wait for nothing, and others may wait for them.
 */
struct in_statement {
    SMTL_INLINE in_statement() { current_core()->atomics_changed = 1; }
};

/* A thread that looks at several atomics in turns has waited long enough after as many polls. */
constexpr uint32_t most_polls_in_turn = 1024;

/* Threads of a kernel that polls may still run one after another, in a plain loop; each begins here. */
SMTL_INLINE void begin_polling_thread(smtl_core *core, uint32_t thread) {
    core->thread = thread;
    core->polls[thread] = {};
}

/* The thread has read `value`, and has not changed it. */
template <class T> SMTL_INLINE void poll(const volatile void *object, T value, in_loop where) {
    mark_polling();
    smtl_core *const core = current_core();
    const uint32_t thread = core->thread;
    smtl_poll &last = core->polls[thread];
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    const bool in_vain = last.object == object && last.value == bits;
    last.object = object;
    last.value = bits;
    if (++last.count % most_polls_in_turn == 0 || in_vain)
        enter<offsetof(smtl_core, enter_poll)>(core, thread, where.site, nullptr, 0);
}

/* The same for a function that may have changed the atomic. If it always does, the optimiser sees that this is not a
 * poll. */
template <class T> SMTL_INLINE void poll_unless(bool changed, const volatile void *object, T before, in_loop where) {
    if (changed)
        current_core()->atomics_changed = 1;
    else
        poll(object, before, where);
}

}  // namespace smtl

#endif
