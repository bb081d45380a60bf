/* The launches whose accesses are still remembered, by the numbers of their threadgroups. */
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
    /* The number of the first threadgroup of a launch that begins. What is too long ago is forgotten. */
    uint32_t begin(past_launch launch);
    /* The launch of a threadgroup, by its place in the list. */
    size_t index_of(uint32_t run) const;
    const past_launch &at(size_t index) const { return launches_[index]; }
    const past_launch &last() const { return launches_.back(); }

    static history &shared();

private:
    std::deque<past_launch> launches_;
    uint64_t next_run_ = 1;
};

} // namespace smtl::sanitize

#endif
