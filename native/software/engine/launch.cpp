#include "launch.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "stacks.h"
#include "support/clock.h"
#include "support/random.h"

namespace smtl {

namespace {

/* A permutation of [0, count) that depends on the seed alone. A Feistel network permutes the numbers below a power of
 * four; a number that is not below `count` goes through the network again. */
uint64_t permute(uint64_t index, uint64_t count, uint64_t seed) {
    constexpr unsigned rounds = 4;
    const unsigned half = (unsigned(std::bit_width(count - 1)) + 1) / 2;
    const uint64_t mask = (uint64_t(1) << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (unsigned round = 0; round < rounds; ++round)
            left = std::exchange(right, left ^ (smtl_mix(right ^ smtl_mix(seed + round)) & mask));
        index = (left << half) | right;
    } while (index >= count);
    return index;
}

}  // namespace

uint64_t launch::in_order(uint64_t step) const {
    return shuffle.on && threadgroup_count > 1 ? permute(step, threadgroup_count, shuffle.value) : step;
}

extent launch::position_of(uint64_t number) const {
    if (number < threadgroups.x && threadgroups.y == 1) return {uint32_t(number), 0, 0};
    constexpr uint64_t panel_height = 4;
    const uint64_t layer_size = uint64_t(threadgroups.x) * threadgroups.y;
    const uint64_t layer = number / layer_size, in_layer = number % layer_size;
    const uint64_t panel_size = panel_height * threadgroups.x;
    const uint64_t panel = in_layer / panel_size, in_panel = in_layer % panel_size;
    const uint64_t height = std::min(panel_height, threadgroups.y - panel * panel_height);
    return {uint32_t(in_panel / height), uint32_t(panel * panel_height + in_panel % height), uint32_t(layer)};
}

uint32_t launch::stacks_needed() const {
    const extent largest = {std::min(threadgroup.x, grid.x), std::min(threadgroup.y, grid.y),
                            std::min(threadgroup.z, grid.z)};
    return kernel->blocks || kernel->polls ? uint32_t(largest.volume()) : 1;
}

void launch::fail(smtl_failure kind, std::string message) {
    if (failed.exchange(true)) return;
    failure_kind = kind;
    failure = std::move(message);
}

launch::~launch() { return_stacks(reserved_stacks_); }

void launch::set_residents(uint32_t most) {
    asked_residents = most;
    resident_limit = most;
}

bool launch::has_stacks() {
    const std::lock_guard lock(waiting_mutex_);
    if (reserved_stacks_ != 0) return true;
    const uint64_t each = stacks_needed();
    reserved_stacks_ = reserve_stacks(each * std::min<uint64_t>(asked_residents, threadgroup_count));
    waits_for_stacks_ = reserved_stacks_ == 0;
    if (!waits_for_stacks_) resident_limit = uint32_t(std::min<uint64_t>(asked_residents, reserved_stacks_ / each));
    return !waits_for_stacks_;
}

bool launch::become_resident() {
    if (!kernel->polls) return true;
    uint32_t present = residents.load();
    while (present < resident_limit)
        if (residents.compare_exchange_weak(present, present + 1)) return true;
    return false;
}

void launch::leave_resident() {
    if (kernel->polls) residents.fetch_sub(1);
}

bool launch::join_waiting() {
    if (!kernel->polls) return true;
    const std::lock_guard lock(waiting_mutex_);
    if (!become_resident()) return false;
    ++waiting_members_;
    vain_rounds_ = 0;
    return true;
}

/* The round ends, so that nobody waits for one who has left. */
void launch::leave_waiting() {
    const std::lock_guard lock(waiting_mutex_);
    --waiting_members_;
    waiting_arrived_ = 0;
    ++waiting_round_;
    vain_rounds_ = 0;
}

bool launch::waits_in_vain(uint64_t &round, bool changed) {
    constexpr uint64_t least_rounds = 4, least_ns = 1'000'000'000;
    const std::lock_guard lock(waiting_mutex_);
    /* Another launch will return its stacks. */
    const bool may_grow = waits_for_stacks_ && next.load() < threadgroup_count;
    if (changed || may_grow) vain_rounds_ = 0;
    /* A thread that executes a kernel's code does not come here, and the round stays open. */
    if (round == waiting_round_) return false;
    round = waiting_round_;
    if (++waiting_arrived_ < waiting_members_) return false;
    waiting_arrived_ = 0;
    ++waiting_round_;
    const uint64_t now = smtl_now_ns();
    if (vain_rounds_++ == 0) vain_since_ = now;
    return !may_grow && vain_rounds_ >= least_rounds && now - vain_since_ >= least_ns;
}

std::string describe_address(const smtl_launch &given, const void *address) {
    constexpr uintptr_t close_by = uintptr_t(1) << 20;
    const auto at = reinterpret_cast<uintptr_t>(address);
    char number[32];
    std::snprintf(number, sizeof number, "%p", address);
    std::string text = number;
    for (uint32_t i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; ++i) {
        const auto start = reinterpret_cast<uintptr_t>(given.buffers[i]);
        const uintptr_t end = start + given.buffer_lengths[i];
        if (start == 0) continue;
        if (at >= end && at - end < close_by)
            return text + " (" + std::to_string(at - end) + " bytes after the end of buffer argument " +
                   std::to_string(i) + ")";
        if (at < start && start - at < close_by)
            return text + " (" + std::to_string(start - at) + " bytes before buffer argument " + std::to_string(i) +
                   ")";
    }
    return text;
}

}  // namespace smtl
