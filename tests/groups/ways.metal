// One scan in two parts: threadgroups add up their shares of the numbers, and go over them again from the sum of all
// shares before. Between the parts all threads of the grid wait.
#include "cooperative_groups.h"

namespace cg = cooperative_groups;
using namespace metal;

struct numbers {
    device const uint *from;
    device uint *to;
    uint begin;
    uint end;
};

numbers share(device const uint *from, device uint *to, uint count, uint group, uint groups) {
    const uint size = (count + groups - 1) / groups;
    return {from, to, min(group * size, count), min((group + 1) * size, count)};
}

template <typename Sums>
void add_up(numbers own, cg::thread_block block, uint group, Sums sums, threadgroup uint *partials) {
    uint sum = 0;
    for (uint k = own.begin + block.thread_rank(); k < own.end; k += block.size()) sum += own.from[k];
    sum = cg::reduce(block, sum, cg::plus<uint>(), partials);
    if (block.thread_rank() == 0) sums[group] = sum;
}

template <typename Sums>
void go_over(numbers own, cg::thread_block block, uint group, Sums sums, threadgroup uint *partials) {
    uint before = 0;
    for (uint g = block.thread_rank(); g < group; g += block.size()) before += sums[g];
    before = cg::reduce(block, before, cg::plus<uint>(), partials);
    constexpr uint each = 4;
    for (uint first = own.begin; first < own.end; first += each * block.size()) {
        const uint k = first + each * block.thread_rank();
        uint sum[each], all = 0;
        for (uint j = 0; j < each; ++j) sum[j] = all += k + j < own.end ? own.from[k + j] : 0;
        const uint through = cg::inclusive_scan(block, all, cg::plus<uint>(), partials);
        for (uint j = 0; j < each; ++j)
            if (k + j < own.end) own.to[k + j] = before + through - all + sum[j];
        before += cg::reduce(block, all, cg::plus<uint>(), partials);
    }
}

#define ARGUMENTS                                                                                                      \
    device const uint *from [[buffer(0)]], device uint *to [[buffer(1)]], constant uint &count [[buffer(2)]],          \
        uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],                               \
        uint3 threads [[threads_per_threadgroup]], uint3 position [[threadgroup_position_in_grid]],                    \
        uint3 groups [[threadgroups_per_grid]]

kernel void first_part(ARGUMENTS, device uint *sums [[buffer(4)]]) {
    threadgroup uint partials[32];
    const numbers own = share(from, to, count, position.x, groups.x);
    add_up(own, cg::thread_block(i, lane, threads), position.x, sums, partials);
}
kernel void second_part(ARGUMENTS, device uint *sums [[buffer(4)]]) {
    threadgroup uint partials[32];
    const numbers own = share(from, to, count, position.x, groups.x);
    go_over(own, cg::thread_block(i, lane, threads), position.x, sums, partials);
}
kernel void both_parts(ARGUMENTS, device atomic_uint *barrier [[buffer(3)]],
                       coherent(device) device uint *sums [[buffer(4)]]) {
    threadgroup uint partials[32];
    const cg::thread_block block(i, lane, threads);
    const numbers own = share(from, to, count, position.x, groups.x);
    add_up(own, block, position.x, sums, partials);
    cg::grid_group(block, position, groups, barrier).sync();
    go_over(own, block, position.x, sums, partials);
}
