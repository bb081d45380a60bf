/* Which dispatches Metal executes after which: by queue and phase, and between queues by what has been waited for. */
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
    std::vector<uint32_t> known; /* by the CPU: phases by queue */
    /* Never freed one by one: dispatches long done refer to them, and a new one is made only where queues meet. */
    std::vector<std::unique_ptr<const smtl_clock>> clocks;
};

order_state &state() {
    static order_state *const only = new order_state;
    return *only;
}

const smtl_clock *keep(std::vector<uint32_t> phases) {
    auto &clocks = state().clocks;
    if (!clocks.empty() && clocks.back()->phases == phases)
        return clocks.back().get();
    clocks.push_back(std::make_unique<const smtl_clock>(smtl_clock{std::move(phases)}));
    return clocks.back().get();
}

/* Whether `now` knows anything of another queue that `then` does not. */
bool adds(const std::vector<uint32_t> &now, const std::vector<uint32_t> &then, uint32_t own) {
    for (uint32_t queue = 0; queue < now.size(); ++queue)
        if (queue != own && now[queue] > (queue < then.size() ? then[queue] : 0))
            return true;
    return false;
}

void join(smtl_moment &moment, const std::vector<uint32_t> &phases) {
    static const std::vector<uint32_t> nothing;
    if (moment.queue < phases.size())
        moment.untracked_phase = std::max(moment.untracked_phase, phases[moment.queue]);
    const std::vector<uint32_t> &seen = moment.seen != nullptr ? moment.seen->phases : nothing;
    if (!adds(phases, seen, moment.queue))
        return;
    std::vector<uint32_t> both = seen;
    both.resize(std::max(seen.size(), phases.size()));
    for (size_t queue = 0; queue < phases.size(); ++queue)
        both[queue] = std::max(both[queue], phases[queue]);
    moment.seen = keep(std::move(both));
}

constexpr unsigned queue_shift = 32;

} // namespace

bool comes_after(const smtl_moment &later, const smtl_moment &earlier, bool tracked) {
    if (later.queue == 0 || earlier.queue == 0)
        return true;
    if (later.queue != earlier.queue)
        return later.seen != nullptr && earlier.queue < later.seen->phases.size() &&
               later.seen->phases[earlier.queue] >= earlier.phase;
    const bool same_encoder = earlier.phase >= later.encoder_phase;
    return earlier.phase < later.phase && (tracked || same_encoder || earlier.phase <= later.untracked_phase);
}

} // namespace smtl::sanitize

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
    if (known != nullptr)
        join(order->moment, known->phases);
}

void smtl_order_begin_encoder(smtl_order *order, bool concurrent) {
    order->concurrent = concurrent;
    order->moment.encoder_phase = ++order->moment.phase;
}

void smtl_order_barrier(smtl_order *order) { ++order->moment.phase; }

smtl_moment smtl_order_dispatch(smtl_order *order) {
    if (!order->concurrent)
        ++order->moment.phase;
    return order->moment;
}

uint64_t smtl_order_position(const smtl_order *order) {
    return uint64_t(order->moment.queue) << queue_shift | order->moment.phase;
}

void smtl_order_wait(smtl_order *order, uint64_t position) {
    const std::lock_guard guard(state().mutex);
    std::vector<uint32_t> phases = state().known;
    const size_t queue = size_t(position >> queue_shift);
    phases.resize(std::max(phases.size(), queue + 1));
    phases[queue] = std::max(phases[queue], uint32_t(position));
    join(order->moment, phases);
}

void smtl_order_observe(uint64_t position) {
    const std::lock_guard guard(state().mutex);
    std::vector<uint32_t> &known = state().known;
    const size_t queue = size_t(position >> queue_shift);
    known.resize(std::max(known.size(), queue + 1));
    known[queue] = std::max(known[queue], uint32_t(position));
}
