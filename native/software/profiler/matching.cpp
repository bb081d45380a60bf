#include "matching.h"

namespace smtl::profile {

bool waiting_executions::add(uint32_t lane, uint64_t what, size_t &allowance) {
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
    one.noted[lane] = what;
    return true;
}

uint64_t waiting_executions::clear(size_t &allowance) {
    const uint64_t executions = first_ + waiting_.size();
    allowance += waiting_.size();
    waiting_.clear();
    first_ = 0;
    times_ = {};
    full_ = false;
    return executions;
}

}  // namespace smtl::profile
