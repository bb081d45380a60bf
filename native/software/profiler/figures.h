/* What the accesses of one instruction by the lanes of one simdgroup come to. */
#ifndef SMTL_PROFILER_FIGURES_H
#define SMTL_PROFILER_FIGURES_H

#include <cstdint>
#include <span>

namespace smtl::profile {

enum class pattern : uint8_t {
    broadcast, /* all lanes access one address, or one lane is active */
    sequential, /* each lane accesses what lies behind the lane before it */
    strided,
    gathered,
};
constexpr unsigned pattern_count = 4;

struct memory_use {
    uint64_t bytes = 0; /* different ones */
    uint64_t lines_of_64 = 0, lines_of_128 = 0;
    uint64_t least_lines_of_128 = 0; /* if the bytes lay side by side from a line's beginning */
    uint64_t turns = 0, least_turns = 0; /* of threadgroup memory, whose 32 banks give 4 bytes in a turn */

    void add(const memory_use &other);
};

struct figures : memory_use {
    bool misaligned = false; /* the bytes lie side by side, and touch a line more than the least */
    pattern order = pattern::broadcast;
    int64_t stride = 0; /* in bytes */
};

/* Of accesses of `size` bytes each, by the lanes in order; at least one, at most 32. `banks`: to threadgroup memory. */
figures figures_of(std::span<const uint64_t> addresses, uint64_t size, bool banks);

}  // namespace smtl::profile

#endif
