// Reductions over a threadgroup of up to 32 simdgroups of 32 lanes.
#ifndef METAL_BRIDGE_REDUCE_H
#define METAL_BRIDGE_REDUCE_H

#include <metal_stdlib>

using namespace metal;

constant constexpr uint simd_width = 32;
constant constexpr uint max_simdgroups = 32;

// The sum of `value` over all threads, in every thread. `partial` holds one float a simdgroup.
inline float threadgroup_sum(float value, threadgroup float *partial, uint lane, uint simdgroup, uint simdgroups) {
    value = simd_sum(value);
    if (simdgroups == 1) return value;
    if (lane == 0) partial[simdgroup] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(lane < simdgroups ? partial[lane] : 0.0f);
}

#endif
