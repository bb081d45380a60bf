/* The launches whose accesses are still remembered, found by the numbers of their threadgroups. */
#ifndef SMTL_SANITIZER_HISTORY_H
#define SMTL_SANITIZER_HISTORY_H

#include <cstdint>
#include <deque>
#include <string>

#include "reports.h"
#include "sanitizer.h"

namespace smtl::sanitize {

struct past_launch {
    uint32_t first_run;
    std::string kernel, path;
    extent grid, threadgroup, threadgroups;
    smtl_moment moment;
};

class history {
public:
    /* Adds a launch that begins, and returns the number of its first threadgroup. If there are too many launches or
     * numbers, this forgets all earlier launches and accesses. */
    uint32_t begin(past_launch launch);
    /* The index of the launch that a threadgroup belongs to. */
    size_t index_of(uint32_t run) const;
    const past_launch &at(size_t index) const { return launches_[index]; }
    const past_launch &last() const { return launches_.back(); }

    static history &shared();

private:
    std::deque<past_launch> launches_;
    uint64_t next_run_ = 1;
};

}  // namespace smtl::sanitize

#endif
