/* Which launches Metal executes after which: by queue and phase, and between queues by what has been waited for. */
#include "sanitizer.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "order.h"

struct smtl_order {
    smtl_moment moment{};
    smtl_clock seen; /* of the moment */
    bool concurrent = false;
    bool in_commands = false; /* those of an indirect command buffer, which one call executes */
};

namespace smtl::sanitize {
namespace {

using phases = std::vector<uint32_t>; /* by queue */

struct order_state {
    std::mutex mutex;
    uint32_t queues = 0;
    phases known; /* the CPU knows these to be done */
};

order_state &state() {
    static order_state *const only = new order_state;
    return *only;
}

/* Makes each phase the greater of the two. */
void join(phases &all, const phases &others) {
    all.resize(std::max(all.size(), others.size()));
    for (size_t queue = 0; queue < others.size(); ++queue) all[queue] = std::max(all[queue], others[queue]);
}

void join(smtl_clock *&signals, const phases &others) {
    if (signals == nullptr) signals = new smtl_clock;
    join(signals->phases, others);
}

/* The phases that are done once the order's present one is. */
phases done_at(const smtl_order &order) {
    phases done = order.seen.phases;
    done.resize(std::max<size_t>(done.size(), order.moment.queue + 1));
    done[order.moment.queue] = std::max(done[order.moment.queue], order.moment.phase);
    return done;
}

void come_after(smtl_order &order, const smtl_clock *clock) {
    if (clock == nullptr) return;
    smtl_moment &moment = order.moment;
    phases done = clock->phases;
    if (moment.queue < done.size()) {
        moment.untracked_phase = std::max(moment.untracked_phase, done[moment.queue]);
        done[moment.queue] = 0; /* within its own queue the phases tell the order */
    }
    join(order.seen.phases, done);
    moment.seen = &order.seen;
}

}  // namespace

bool comes_after(const smtl_moment &later, const smtl_moment &earlier, bool tracked) {
    if (later.queue == 0 || earlier.queue == 0) return true;
    if (later.queue != earlier.queue)
        return later.seen != nullptr && earlier.queue < later.seen->phases.size() &&
               later.seen->phases[earlier.queue] >= earlier.phase;
    const bool same_encoder = earlier.phase >= later.encoder_phase;
    return earlier.phase < later.phase && (tracked || same_encoder || earlier.phase <= later.untracked_phase);
}

}  // namespace smtl::sanitize

using namespace smtl::sanitize;

smtl_order *smtl_order_create(void) {
    const std::lock_guard guard(state().mutex);
    auto *const order = new smtl_order;
    order->moment.queue = ++state().queues;
    return order;
}

void smtl_order_release(smtl_order *order) { delete order; }

void smtl_clock_free(smtl_clock *clock) { delete clock; }

smtl_clock *smtl_order_known(void) {
    const std::lock_guard guard(state().mutex);
    return state().known.empty() ? nullptr : new smtl_clock{state().known};
}

void smtl_order_begin_command_buffer(smtl_order *order, const smtl_clock *known) { come_after(*order, known); }

void smtl_order_begin_encoder(smtl_order *order, bool concurrent) {
    order->concurrent = concurrent;
    order->moment.encoder_phase = ++order->moment.phase;
}

void smtl_order_barrier(smtl_order *order) { ++order->moment.phase; }

void smtl_order_begin_commands(smtl_order *order) {
    if (!order->concurrent) ++order->moment.phase;
    order->in_commands = true;
}

void smtl_order_end_commands(smtl_order *order) { order->in_commands = false; }

smtl_moment smtl_order_launch(smtl_order *order) {
    if (!order->concurrent && !order->in_commands) ++order->moment.phase;
    return order->moment;
}

smtl_clock *smtl_order_now(const smtl_order *order) { return new smtl_clock{done_at(*order)}; }

void smtl_order_signal(const smtl_order *order, smtl_clock **signals) {
    const std::lock_guard guard(state().mutex);
    join(*signals, done_at(*order));
}

void smtl_order_signal_by_cpu(smtl_clock **signals) {
    const std::lock_guard guard(state().mutex);
    join(*signals, state().known);
}

void smtl_order_wait(smtl_order *order, smtl_clock *const *signals) {
    const std::lock_guard guard(state().mutex);
    come_after(*order, *signals);
}

void smtl_order_observe(smtl_clock *const *done) {
    const std::lock_guard guard(state().mutex);
    if (*done != nullptr) join(state().known, (*done)->phases);
}
