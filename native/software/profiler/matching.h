/* Finds which accesses, or branches, of the lanes of a simdgroup belong together, though the lanes run one after the
 * other: the k-th time that one lane executes an instruction belongs to the k-th time of each other lane. The times
 * count from the last point where the lanes met: the beginning of the threadgroup, a threadgroup barrier or a simdgroup
 * barrier. If lanes leave out iterations of a loop between two such points, this matches accesses of different
 * iterations. */
#ifndef SMTL_PROFILER_MATCHING_H
#define SMTL_PROFILER_MATCHING_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

namespace smtl::profile {

constexpr uint32_t simd_width = 32;

/* Executions of one instruction by one simdgroup that wait for further lanes. */
class waiting_executions {
public:
    /* Notes what a lane does: the address that it accesses, or the side of a branch that it takes. False if it is to be
     * counted nowhere. `allowance`: how many further executions may wait. */
    bool add(uint32_t lane, uint64_t what, size_t &allowance);
    /* Counts those that all lanes have executed: calls `count` with what each noted, lane by lane. */
    template <class Count> void count_complete(uint32_t lanes_of_simdgroup, size_t &allowance, const Count &count) {
        for (; !waiting_.empty() && uint32_t(std::popcount(waiting_.front().active)) == lanes_of_simdgroup; ++first_) {
            waiting_.front().tell(count);
            waiting_.pop_front();
            ++allowance;
        }
    }
    /* Counts all, and begins anew. Returns how many times the simdgroup executed the instruction since it began. */
    template <class Count> uint64_t finish(size_t &allowance, const Count &count) {
        for (const execution &one : waiting_) one.tell(count);
        return clear(allowance);
    }

private:
    struct execution {
        uint32_t active = 0;
        std::array<uint64_t, simd_width> noted;

        template <class Count> void tell(const Count &count) const {
            std::array<uint64_t, simd_width> active_ones;
            uint32_t found = 0;
            for (uint32_t left = active; left != 0; left &= left - 1)
                active_ones[found++] = noted[size_t(std::countr_zero(left))];
            count(std::span<const uint64_t>(active_ones.data(), found));
        }
    };
    uint64_t clear(size_t &allowance);

    std::deque<execution> waiting_;
    uint64_t first_ = 0; /* the number of the first that waits */
    std::array<uint64_t, simd_width> times_{}; /* that each lane has executed the instruction */
    bool full_ = false;
};

}  // namespace smtl::profile

#endif
