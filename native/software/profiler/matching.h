/* Finds which accesses of the lanes of a simdgroup belong together, though the lanes run one after the other: the k-th
 * time that one lane executes an instruction belongs to the k-th time of each other lane. The times count from the last
 * point where the lanes met: the beginning of the threadgroup, a threadgroup barrier or a simdgroup barrier. If lanes
 * leave out iterations of a loop between two such points, this matches accesses of different iterations. */
#ifndef SMTL_PROFILER_MATCHING_H
#define SMTL_PROFILER_MATCHING_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "counts.h"

namespace smtl::profile {

constexpr uint32_t simd_width = 32;

/* Executions of one instruction by one simdgroup that wait for further lanes. */
class waiting_executions {
public:
    /* Notes one access. False if it is to be counted nowhere. `allowance`: how many further executions may wait. */
    bool add(uint32_t lane, uint64_t address, size_t &allowance);
    /* Counts those that all lanes have executed. */
    void count_complete(access_counts &to, uint64_t size, bool banks, uint32_t lanes_of_simdgroup, size_t &allowance);
    /* Counts all, and begins anew. Returns how many times the simdgroup executed the instruction since it began. */
    uint64_t finish(access_counts &to, uint64_t size, bool banks, uint32_t lanes_of_simdgroup, size_t &allowance);

private:
    struct execution {
        uint32_t active = 0;
        std::array<uint64_t, simd_width> addresses;
    };
    void count(const execution &one, access_counts &to, uint64_t size, bool banks, uint32_t lanes_of_simdgroup);

    std::deque<execution> waiting_;
    uint64_t first_ = 0; /* the number of the first that waits */
    std::array<uint64_t, simd_width> times_{}; /* that each lane has executed the instruction */
    bool full_ = false;
};

}  // namespace smtl::profile

#endif
