// Numbers go around the grid: in each round every thread takes its neighbour's and adds one.
#include "cooperative_groups.h"

namespace cg = cooperative_groups;
using namespace metal;

// In one dispatch. The result says what `grid_group` knows of itself, too.
kernel void around(coherent(device) device uint *even [[buffer(0)]], coherent(device) device uint *odd [[buffer(1)]],
                   constant uint &rounds [[buffer(2)]], device atomic_uint *barrier [[buffer(3)]],
                   device uint *facts [[buffer(4)]], uint i [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]], uint3 threads [[threads_per_threadgroup]],
                   uint3 position [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]]) {
    const cg::grid_group grid(cg::thread_block(i, lane, threads), position, groups, barrier);
    const uint rank = uint(grid.thread_rank()), size = uint(grid.size());
    for (uint round = 0; round < rounds; ++round) {
        if (round % 2 == 0)
            odd[rank] = even[(rank + 1) % size] + 1;
        else
            even[rank] = odd[(rank + 1) % size] + 1;
        grid.sync();
    }
    facts[rank] = grid.block_rank() * 1000 + grid.num_blocks() * 10 + grid.is_valid();
}

// One round, for dispatches one after another: the rounds of even number, and the others.
kernel void even_round(device const uint *even [[buffer(0)]], device uint *odd [[buffer(1)]],
                       uint i [[thread_position_in_grid]], uint size [[threads_per_grid]]) {
    odd[i] = even[(i + 1) % size] + 1;
}
kernel void odd_round(device uint *even [[buffer(0)]], device const uint *odd [[buffer(1)]],
                      uint i [[thread_position_in_grid]], uint size [[threads_per_grid]]) {
    even[i] = odd[(i + 1) % size] + 1;
}
