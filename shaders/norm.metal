// RMSNorm (Zhang and Sennrich 2019, arXiv:1910.07467): y = x / sqrt(mean(x^2) + eps) * weight, a row a threadgroup.
#include "reduce.h"

// First adds `residual` to x in place: x += residual, y = norm(x).
constant bool add_residual [[function_constant(0)]];
// Adds what y holds already.
constant bool accumulate [[function_constant(1)]];

struct NormArguments {
    uint columns;
    float epsilon;
};

kernel void rms_norm(constant NormArguments &arguments [[buffer(0)]],
                     device float *x [[buffer(1)]],
                     device const float *weight [[buffer(2)]],
                     device float *y [[buffer(3)]],
                     device const float *residual [[buffer(4), function_constant(add_residual)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float partial[max_simdgroups];
    const uint columns = arguments.columns;
    const ulong start = ulong(row) * columns;
    device packed_float4 *x4 = (device packed_float4 *)(x + start);
    const uint quads = columns / 4;
    const uint rest = quads * 4;

    float4 squares = float4(0.0f);
    for (uint i = thread_index; i < quads; i += threads) {
        float4 value = float4(x4[i]);
        if (add_residual) {
            value += float4(((device const packed_float4 *)(residual + start))[i]);
            x4[i] = packed_float4(value);
        }
        squares = fma(value, value, squares);
    }
    float sum = (squares.x + squares.y) + (squares.z + squares.w);
    for (uint i = rest + thread_index; i < columns; i += threads) {
        float value = x[start + i];
        if (add_residual) {
            value += residual[start + i];
            x[start + i] = value;
        }
        sum = fma(value, value, sum);
    }
    sum = threadgroup_sum(sum, partial, lane, simdgroup, simdgroups);

    // Each thread reads back what it wrote itself, so the sum's barrier is all that is needed.
    const float scale = 1.0f / precise::sqrt(sum / float(columns) + arguments.epsilon);
    device const packed_float4 *weight4 = (device const packed_float4 *)weight;
    device packed_float4 *y4 = (device packed_float4 *)(y + start);
    for (uint i = thread_index; i < quads; i += threads) {
        const float4 value = float4(x4[i]) * scale * float4(weight4[i]);
        y4[i] = packed_float4(accumulate ? float4(y4[i]) + value : value);
    }
    for (uint i = rest + thread_index; i < columns; i += threads) {
        const float value = x[start + i] * scale * weight[i];
        y[start + i] = accumulate ? y[start + i] + value : value;
    }
}
