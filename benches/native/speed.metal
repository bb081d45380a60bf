// The kernels that benches/software.rs times: each the plainest form of what it stands for.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>

using namespace metal;

kernel void nothing(uint i [[thread_position_in_grid]]) {}

// With the guard that engines write, as they round the grid up.
kernel void add(device const float *a [[buffer(0)]],
                device const float *b [[buffer(1)]],
                device float *c [[buffer(2)]],
                constant uint &count [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i >= count) {
        return;
    }
    c[i] = a[i] + b[i];
}

// One sum a threadgroup: a tree in threadgroup memory with a barrier at each level.
kernel void sum(device const float *values [[buffer(0)]],
                device float *sums [[buffer(1)]],
                constant uint &count [[buffer(2)]],
                uint group [[threadgroup_position_in_grid]],
                uint index [[thread_index_in_threadgroup]]) {
    constexpr uint threads = 256;
    constexpr uint values_per_threadgroup = 16384;
    threadgroup float partial[threads];
    const uint first = group * values_per_threadgroup;
    const uint end = min(first + values_per_threadgroup, count);
    float own = 0.0f;
    for (uint i = first + index; i < end; i += threads) {
        own += values[i];
    }
    partial[index] = own;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_way = threads / 2; half_way > 0; half_way /= 2) {
        if (index < half_way) {
            partial[index] += partial[index + half_way];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (index == 0) {
        sums[group] = partial[0];
    }
}

// The same with SIMD-group functions and one barrier.
kernel void sum_by_simdgroups(device const float *values [[buffer(0)]],
                              device float *sums [[buffer(1)]],
                              constant uint &count [[buffer(2)]],
                              uint group [[threadgroup_position_in_grid]],
                              uint index [[thread_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    constexpr uint threads = 256;
    constexpr uint values_per_threadgroup = 16384;
    threadgroup float partial[threads / 32];
    const uint first = group * values_per_threadgroup;
    const uint end = min(first + values_per_threadgroup, count);
    float own = 0.0f;
    for (uint i = first + index; i < end; i += threads) {
        own += values[i];
    }
    own = simd_sum(own);
    if (lane == 0) {
        partial[simdgroup] = own;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        own = simd_sum(lane < threads / 32 ? partial[lane] : 0.0f);
        if (lane == 0) {
            sums[group] = own;
        }
    }
}

// c = a . b of n by n, n a multiple of 32, on operands in device memory: a simdgroup makes 32 by 32 of c.
kernel void product(device const float *a [[buffer(0)]],
                    device const float *b [[buffer(1)]],
                    device float *c [[buffer(2)]],
                    constant uint &n [[buffer(3)]],
                    uint2 group [[threadgroup_position_in_grid]]) {
    device const float *rows = a + group.y * 32 * n;
    device const float *columns = b + group.x * 32;
    simdgroup_float8x8 sums[4][4];
    for (uint i = 0; i < 4; i++) {
        for (uint j = 0; j < 4; j++) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    for (uint k = 0; k < n; k += 8) {
        simdgroup_float8x8 left[4];
        simdgroup_float8x8 right[4];
        for (uint i = 0; i < 4; i++) {
            simdgroup_load(left[i], rows + i * 8 * n + k, n);
            simdgroup_load(right[i], columns + k * n + i * 8, n);
        }
        for (uint i = 0; i < 4; i++) {
            for (uint j = 0; j < 4; j++) {
                simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
            }
        }
    }
    for (uint i = 0; i < 4; i++) {
        for (uint j = 0; j < 4; j++) {
            simdgroup_store(sums[i][j], c + (group.y * 32 + i * 8) * n + group.x * 32 + j * 8, n);
        }
    }
}
