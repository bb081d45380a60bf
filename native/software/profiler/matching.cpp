#include "matching.h"

#include <bit>

namespace smtl::profile {

bool waiting_executions::add(uint32_t lane, uint64_t address, size_t &allowance) {
    const uint64_t number = times_[lane]++ - first_;
    if (number >= waiting_.size()) {
        /* Lanes that come later must not begin what earlier lanes could not. */
        full_ = full_ || allowance == 0;
        if (full_) return false;
        --allowance;
        waiting_.emplace_back();
    }
    execution &one = waiting_[number];
    one.active |= 1u << lane;
    one.addresses[lane] = address;
    return true;
}

void waiting_executions::count(const execution &one, access_counts &to, uint64_t size, bool banks,
                               uint32_t lanes_of_simdgroup) {
    std::array<uint64_t, simd_width> addresses;
    uint32_t active = 0;
    for (uint32_t left = one.active; left != 0; left &= left - 1)
        addresses[active++] = one.addresses[size_t(std::countr_zero(left))];
    to.add(figures_of(std::span(addresses.data(), active), size, banks), active, lanes_of_simdgroup);
}

void waiting_executions::count_complete(access_counts &to, uint64_t size, bool banks, uint32_t lanes_of_simdgroup,
                                        size_t &allowance) {
    for (; !waiting_.empty() && uint32_t(std::popcount(waiting_.front().active)) == lanes_of_simdgroup; ++first_) {
        count(waiting_.front(), to, size, banks, lanes_of_simdgroup);
        waiting_.pop_front();
        ++allowance;
    }
}

uint64_t waiting_executions::finish(access_counts &to, uint64_t size, bool banks, uint32_t lanes_of_simdgroup,
                                    size_t &allowance) {
    const uint64_t executions = first_ + waiting_.size();
    for (const execution &one : waiting_) count(one, to, size, banks, lanes_of_simdgroup);
    allowance += waiting_.size();
    waiting_.clear();
    first_ = 0;
    times_ = {};
    full_ = false;
    return executions;
}

}  // namespace smtl::profile
