/* Which launches Metal executes after which: by queue and phase, and between queues by what has been waited for. */
#include "sanitizer.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "order.h"

struct smtl_order {
    smtl_moment moment{};
    bool concurrent = false;
};

namespace smtl::sanitize {
namespace {

struct order_state {
    std::mutex mutex;
    uint32_t queues = 0;
    std::vector<uint32_t> known; /* the CPU knows these phases to be done, by queue */
    /* Never freed: launches long done refer to them. A new one is made when queues meet or the CPU has waited. */
    std::vector<std::unique_ptr<const smtl_clock>> clocks;
};

order_state &state() {
    static order_state *const only = new order_state;
    return *only;
}

const smtl_clock *keep(std::vector<uint32_t> phases) {
    auto &clocks = state().clocks;
    if (!clocks.empty() && clocks.back()->phases == phases) return clocks.back().get();
    clocks.push_back(std::make_unique<const smtl_clock>(smtl_clock{std::move(phases)}));
    return clocks.back().get();
}

const std::vector<uint32_t> &phases_of(const smtl_clock *clock) {
    static const std::vector<uint32_t> none;
    return clock != nullptr ? clock->phases : none;
}

/* Makes each phase the greater of the two. True if one has grown. */
bool join(std::vector<uint32_t> &phases, const std::vector<uint32_t> &others) {
    bool more = false;
    phases.resize(std::max(phases.size(), others.size()));
    for (size_t queue = 0; queue < others.size(); ++queue) {
        more = more || others[queue] > phases[queue];
        phases[queue] = std::max(phases[queue], others[queue]);
    }
    return more;
}

/* The phases that are done once the moment's own phase is. */
std::vector<uint32_t> done_at(const smtl_moment &moment) {
    std::vector<uint32_t> phases = phases_of(moment.seen);
    phases.resize(std::max<size_t>(phases.size(), moment.queue + 1));
    phases[moment.queue] = std::max(phases[moment.queue], moment.phase);
    return phases;
}

void come_after(smtl_moment &moment, std::vector<uint32_t> phases) {
    if (moment.queue < phases.size()) {
        moment.untracked_phase = std::max(moment.untracked_phase, phases[moment.queue]);
        phases[moment.queue] = 0; /* within its own queue the phases tell the order */
    }
    std::vector<uint32_t> both = phases_of(moment.seen);
    if (join(both, phases)) moment.seen = keep(std::move(both));
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

const smtl_clock *smtl_order_known(void) {
    const std::lock_guard guard(state().mutex);
    return state().known.empty() ? nullptr : keep(state().known);
}

void smtl_order_begin_command_buffer(smtl_order *order, const smtl_clock *known) {
    const std::lock_guard guard(state().mutex);
    come_after(order->moment, phases_of(known));
}

void smtl_order_begin_encoder(smtl_order *order, bool concurrent) {
    order->concurrent = concurrent;
    order->moment.encoder_phase = ++order->moment.phase;
}

void smtl_order_barrier(smtl_order *order) { ++order->moment.phase; }

smtl_moment smtl_order_launch(smtl_order *order) {
    if (!order->concurrent) ++order->moment.phase;
    return order->moment;
}

const smtl_clock *smtl_order_signal(const smtl_order *order, const smtl_clock *earlier_signals) {
    const std::lock_guard guard(state().mutex);
    std::vector<uint32_t> phases = done_at(order->moment);
    join(phases, phases_of(earlier_signals));
    return keep(std::move(phases));
}

const smtl_clock *smtl_order_signal_by_cpu(const smtl_clock *earlier_signals) {
    const std::lock_guard guard(state().mutex);
    std::vector<uint32_t> phases = state().known;
    join(phases, phases_of(earlier_signals));
    return keep(std::move(phases));
}

void smtl_order_wait(smtl_order *order, const smtl_clock *signals) {
    const std::lock_guard guard(state().mutex);
    come_after(order->moment, phases_of(signals));
}

void smtl_order_observe_signals(const smtl_clock *signals) {
    const std::lock_guard guard(state().mutex);
    join(state().known, phases_of(signals));
}

smtl_moment smtl_order_now(const smtl_order *order) { return order->moment; }

void smtl_order_observe(smtl_moment moment) {
    const std::lock_guard guard(state().mutex);
    join(state().known, done_at(moment));
}
