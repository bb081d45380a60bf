/* Whether accesses of different threads to the same location are in an order that Metal promises. */
#include "checked_launch.h"

#include <algorithm>
#include <cstring>

#include "history.h"
#include "order.h"

namespace smtl::sanitize {
namespace {

constexpr uint32_t device_flag = 1, threadgroup_flag = 2; /* of mem_flags */
/* A threadgroup that reads more atomics than this counts as having seen all that was published. */
constexpr size_t most_acquired = 64;

bool is_atomic(const access &a) { return (a.touch & SMTL_TOUCH_ATOMIC) != 0; }
bool is_write(const access &a) { return (a.touch & SMTL_TOUCH_WRITE) != 0; }

uint32_t simdgroup_of(uint16_t thread) {
    return thread & whole_simdgroup ? thread & ~uint32_t(whole_simdgroup) : thread / SMTL_SIMD_WIDTH;
}

/* What it is worth to keep these two reads: plain ones find more than atomic ones, and a barrier that orders one read
 * before a write often orders those of the same SIMD-group and threadgroup too. */
unsigned worth_of(const access &a, const access &b) {
    const unsigned apart = a.run != b.run ? 2 : simdgroup_of(a.thread) != simdgroup_of(b.thread) ? 1 : 0;
    return 3 * (!is_atomic(a) + !is_atomic(b)) + apart;
}

}  // namespace

void checked_launch::check_race(smtl_watched &watched, size_t offset, size_t size, uint32_t how, const void *pc) {
    const access now = running_access(how, pc);
    const space where = is_threadgroup(watched.kind) ? threadgroup_space : device_space;
    if ((how & SMTL_TOUCH_ATOMIC) && where == device_space) exchange_through(watched.base + offset, how, now);
    access earlier;
    const size_t length = std::max({watched.length, watched.capacity, watched.cells_length});
    watched.cells->visit(length, watched.cells_offset + offset, size, [&](cell &state) {
        if (const access *const found = earlier.run == 0 ? conflict(state, now, where, watched.tracked) : nullptr)
            earlier = *found;
        record(state, now, where, watched.tracked);
    });
    if (earlier.run == 0) return;
    if (is_write(earlier) && is_write(now) && size <= sizeof(pending_write::before))
        hold_back(watched, offset, size, earlier, now);
    else
        report_race(watched, offset, size, earlier, now);
}

/* Two threads that write the same value do no harm, whichever comes first. This compares values after the write. */
void checked_launch::hold_back(const smtl_watched &watched, size_t offset, size_t size, const access &earlier,
                               const access &now) {
    pending_write held{&watched, offset, size, earlier, now, {}};
    std::memcpy(held.before, reinterpret_cast<const void *>(watched.base + offset), size);
    pending_.push_back(held);
}

void checked_launch::settle_writes() {
    if (pending_.empty()) return;
    const std::vector<pending_write> held = std::move(pending_);
    pending_.clear();
    for (const pending_write &write : held)
        if (std::memcmp(write.before, reinterpret_cast<const void *>(write.watched->base + write.offset), write.size) !=
            0)
            report_race(*write.watched, write.offset, write.size, write.earlier, write.now);
}

const access *checked_launch::conflict(const cell &state, const access &now, space where, bool tracked) {
    const auto conflicts = [&](const access &earlier) {
        return earlier.run != 0 && !(is_atomic(earlier) && is_atomic(now)) && !in_order(earlier, now, where, tracked);
    };
    if (conflicts(state.write)) return &state.write;
    if (is_write(now))
        for (const access &read : state.reads)
            if (conflicts(read)) return &read;
    return nullptr;
}

/* Two of the reads that are in no order are kept: those that are worth most. So a later write that is in conflict with
 * any of the reads is nearly always in conflict with one of the two. */
void checked_launch::record(cell &state, const access &now, space where, bool tracked) {
    if (is_write(now)) {
        state.write = now;
        state.reads[0] = state.reads[1] = {};
        return;
    }
    for (access &read : state.reads) {
        const bool as_strong = !is_atomic(now) || is_atomic(read);
        if (read.run == 0 || (as_strong && in_order(read, now, where, tracked))) {
            read = now;
            return;
        }
    }
    const unsigned worth = worth_of(state.reads[0], state.reads[1]);
    if (worth_of(state.reads[0], now) > worth)
        state.reads[1] = now;
    else if (worth_of(now, state.reads[1]) > worth)
        state.reads[0] = now;
}

bool checked_launch::in_order(const access &earlier, const access &now, space where, bool tracked) {
    if (earlier.run == now.run) {
        if (earlier.thread == now.thread || earlier.clock < group_.at[where]) return true;
        const uint32_t simdgroup = simdgroup_of(now.thread);
        return simdgroup_of(earlier.thread) == simdgroup && earlier.clock < simdgroups_[simdgroup].at[where];
    }
    /* What another threadgroup left in threadgroup memory is gone. */
    if (where == threadgroup_space) return true;
    if (earlier.run >= first_run_) return is_published(earlier);
    return comes_after_launch_of(earlier.run, tracked);
}

/* Most memory was last touched by few threadgroups of earlier launches, so what was found for one is kept. */
bool checked_launch::comes_after_launch_of(uint32_t run, bool tracked) {
    known_order &known = known_orders_[run % known_orders_.size()];
    if (known.run != run) {
        const smtl_moment &then = history::shared().at(history::shared().index_of(run)).moment;
        known.run = run;
        for (const bool with_tracking : {false, true})
            known.after[with_tracking] = comes_after(launch_.moment, then, with_tracking);
    }
    return known.after[tracked];
}

/* Whether another threadgroup of the launch has made its access visible to this one: it has written an atomic after a
 * fence, and this one has read the atomic. */
bool checked_launch::is_published(const access &earlier) const {
    if (acquired_.size() > most_acquired) return true;
    for (const auto &[location, publications] : published_) {
        if (std::find(acquired_.begin(), acquired_.end(), location) == acquired_.end()) continue;
        for (const publication &made : publications) {
            const bool own = made.thread == earlier.thread && earlier.clock <= made.clock;
            if (made.run == earlier.run && (own || earlier.clock < made.group_clock)) return true;
        }
    }
    return false;
}

/* An atomic is where threadgroups meet: with a fence before it, what came before the fence is published. */
void checked_launch::exchange_through(uintptr_t location, uint32_t how, const access &now) {
    if (!(how & SMTL_TOUCH_STORE) && acquired_.size() <= most_acquired &&
        std::find(acquired_.begin(), acquired_.end(), location) == acquired_.end())
        acquired_.push_back(location);
    if (how & SMTL_TOUCH_ORDERED) fence(device_flag);
    const uint32_t fenced = fences_[now.thread];
    if (!(how & SMTL_TOUCH_WRITE) || (fenced == 0 && group_fence_ == 0)) return;
    auto entry = std::find_if(published_.begin(), published_.end(),
                              [location](const auto &known) { return known.first == location; });
    if (entry == published_.end()) entry = published_.insert(published_.end(), {location, {}});
    std::vector<publication> &all = entry->second;
    const publication made = {run_, fenced != 0 ? now.thread : UINT32_MAX, fenced != 0 ? fenced - 1 : 0, group_fence_};
    if (!all.empty() && all.back().run == made.run && all.back().thread == made.thread)
        all.back() = made;
    else
        all.push_back(made);
}

void checked_launch::fence(uint32_t memory) {
    if (memory & device_flag) fences_[facts_.core->thread] = clock_ + 1;
}

void checked_launch::simdgroup_barrier(uint32_t memory) {
    settle_writes();
    ++clock_;
    barrier_clocks &own = simdgroups_[facts_.core->thread / SMTL_SIMD_WIDTH];
    if (memory & device_flag) own.at[device_space] = clock_;
    if (memory & threadgroup_flag) own.at[threadgroup_space] = clock_;
}

void checked_launch::arrive(uint32_t site, uint32_t memory, const void *instruction) {
    settle_writes();
    /* The thread goes on with this instruction. */
    const access now = running_access(0, instruction);
    barrier_memory_ = arrived_ ? barrier_memory_ & memory : memory;
    if (!arrived_) {
        arrived_ = true;
        first_arrival_ = {site, now};
    } else if (site != first_arrival_.site && !diverged_ && (checks_ & SMTL_SANITIZE_RACE)) {
        diverged_ = true;
        report_divergence("threads of one threadgroup wait at different barriers", now, &first_arrival_.where);
    }
}

void checked_launch::release(uint32_t arrived) {
    const smtl_core &core = *facts_.core;
    const uint32_t threads = core.threadgroup_size[0] * core.threadgroup_size[1] * core.threadgroup_size[2];
    if (arrived < threads && !diverged_ && (checks_ & SMTL_SANITIZE_RACE)) {
        diverged_ = true;
        report_divergence("only " + std::to_string(arrived) + " of " + std::to_string(threads) +
                              " threads of the threadgroup come to this barrier, the others have returned",
                          first_arrival_.where, nullptr);
    }
    arrived_ = false;
    ++clock_;
    if (barrier_memory_ & device_flag) group_.at[device_space] = group_fence_ = clock_;
    if (barrier_memory_ & threadgroup_flag) group_.at[threadgroup_space] = clock_;
}

}  // namespace smtl::sanitize
