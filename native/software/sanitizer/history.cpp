#include "history.h"

#include <algorithm>

#include "memory.h"

namespace smtl::sanitize {
namespace {

constexpr uint64_t most_runs = UINT32_MAX - 1; /* the greatest number marks cells that are split */
constexpr size_t most_launches = 1 << 16;

}  // namespace

history &history::shared() {
    static history *const only = new history;
    return *only;
}

uint32_t history::begin(past_launch launch) {
    const uint64_t groups = uint64_t(launch.threadgroups.x) * launch.threadgroups.y * launch.threadgroups.z;
    if (launches_.size() >= most_launches || groups > most_runs - next_run_) {
        launches_.clear();
        forget_accesses();
        next_run_ = 1;
    }
    launch.first_run = uint32_t(next_run_);
    launch.moment.seen = nullptr; /* it lasts no longer than the launch, and only later launches' are asked for */
    next_run_ += std::min(groups, most_runs - next_run_);
    launches_.push_back(std::move(launch));
    return launches_.back().first_run;
}

size_t history::index_of(uint32_t run) const {
    const auto later =
        std::upper_bound(launches_.begin(), launches_.end(), run,
                         [](uint32_t wanted, const past_launch &each) { return wanted < each.first_run; });
    return size_t(later - launches_.begin()) - 1;
}

}  // namespace smtl::sanitize
