#include "history.h"

#include <algorithm>

#include "memory.h"

namespace smtl::sanitize {
namespace {

constexpr uint64_t most_runs = UINT32_MAX - 1; /* the greatest number marks cells that are split */
constexpr size_t most_dispatches = 1 << 16;

} // namespace

history &history::shared() {
    static history *const only = new history;
    return *only;
}

uint32_t history::begin(past_dispatch dispatch) {
    const uint64_t groups = uint64_t(dispatch.threadgroups.x) * dispatch.threadgroups.y * dispatch.threadgroups.z;
    if (dispatches_.size() >= most_dispatches || groups > most_runs - next_run_) {
        dispatches_.clear();
        forget_accesses();
        next_run_ = 1;
    }
    dispatch.first_run = uint32_t(next_run_);
    next_run_ += std::min(groups, most_runs - next_run_);
    dispatches_.push_back(std::move(dispatch));
    return dispatches_.back().first_run;
}

size_t history::index_of(uint32_t run) const {
    const auto later =
        std::upper_bound(dispatches_.begin(), dispatches_.end(), run,
                         [](uint32_t wanted, const past_dispatch &each) { return wanted < each.first_run; });
    return size_t(later - dispatches_.begin()) - 1;
}

} // namespace smtl::sanitize
