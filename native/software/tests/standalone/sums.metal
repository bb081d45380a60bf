#include <metal_stdlib>
using namespace metal;

// Each threadgroup adds up its share of the values.
kernel void partial_sums(device const float *values [[buffer(0)]],
                         constant uint &count [[buffer(1)]],
                         device float *sums [[buffer(2)]],
                         threadgroup float *scratch [[threadgroup(0)]],
                         uint position [[thread_position_in_grid]],
                         uint grid [[threads_per_grid]],
                         uint group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]],
                         uint simdgroups [[simdgroups_per_threadgroup]]) {
    float sum = 0;
    for (uint i = position; i < count; i += grid) sum += values[i];
    sum = simd_sum(sum);
    if (lane == 0) scratch[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup != 0) return;
    sum = simd_sum(lane < simdgroups ? scratch[lane] : 0.0f);
    if (lane == 0) sums[group] = sum;
}
