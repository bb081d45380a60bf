// y[m, n] = x[m, k] . W[n, k]^T for one or a few rows of x: bound by the bandwidth at which W is read.
#include "product.h"
#include "weights.h"

constant constexpr uint simd_width = 32;
constant constexpr uint rows_per_simdgroup = 4;

inline float horizontal_sum(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

// A simdgroup owns four rows of W against `Columns` rows of x. Its lanes read neighbouring bytes, which a GPU
// coalesces.
template <typename W, uint Columns>
kernel void matvec(constant ProductArguments &arguments [[buffer(0)]],
                   device const uchar *weights [[buffer(1)]],
                   device const float *x [[buffer(2)]],
                   device float *y [[buffer(3)]],
                   device const float *bias [[buffer(4), function_constant(has_bias)]],
                   device const uint *chosen [[buffer(5), function_constant(is_chosen)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]],
                   uint simdgroups [[simdgroups_per_threadgroup]]) {
    const uint k = arguments.k;
    const uint n = arguments.n;
    const uint row = (group.x * simdgroups + simdgroup) * rows_per_simdgroup;
    const uint column = group.y * Columns;

    // Past the edges the last row is read again and its result dropped.
    const uint first = first_row(arguments, chosen, column);
    device const uchar *rows[rows_per_simdgroup];
    for (uint r = 0; r < rows_per_simdgroup; r++) {
        rows[r] = weights + (first + min(row + r, n - 1)) * W::row_bytes(k);
    }
    device const float *columns[Columns];
    for (uint c = 0; c < Columns; c++) {
        columns[c] = x + ulong(row_of_x(arguments, min(column + c, arguments.m - 1))) * k;
    }

    float4 sums[Columns][rows_per_simdgroup];
    for (uint c = 0; c < Columns; c++) {
        for (uint r = 0; r < rows_per_simdgroup; r++) {
            sums[c][r] = float4(0.0f);
        }
    }
    const uint chunks = k / chunk_elements;
    for (uint chunk = lane; chunk < chunks; chunk += simd_width) {
        Chunk activations[Columns];
        for (uint c = 0; c < Columns; c++) {
            activations[c] = load_activations<W>(columns[c], chunk);
        }
        for (uint r = 0; r < rows_per_simdgroup; r++) {
            const Chunk w = W::load(rows[r], chunk);
            for (uint c = 0; c < Columns; c++) {
                sums[c][r] = multiply_add(w, activations[c], sums[c][r]);
            }
        }
    }
    const uint tail = k % chunk_elements;
    if (W::ragged && tail > 0 && lane == chunks % simd_width) {
        for (uint c = 0; c < Columns; c++) {
            const Chunk activations = load_some(columns[c] + chunks * chunk_elements, tail);
            for (uint r = 0; r < rows_per_simdgroup; r++) {
                sums[c][r] = multiply_add(W::load_tail(rows[r], chunks, tail), activations, sums[c][r]);
            }
        }
    }

    for (uint c = 0; c < Columns; c++) {
        const float4 total = simd_sum(float4(horizontal_sum(sums[c][0]), horizontal_sum(sums[c][1]),
                                                 horizontal_sum(sums[c][2]), horizontal_sum(sums[c][3])));
        if (lane == 0 && column + c < arguments.m) {
            device float *out = y + ulong(column + c) * n;
            for (uint r = 0; r < rows_per_simdgroup; r++) {
                if (row + r < n) {
                    out[row + r] = finished(arguments, total[r], bias, first + row + r, out + row + r);
                }
            }
        }
    }
}

typedef decltype(matvec<F32, 1>) matvec_kernel;

#define MATVEC(name, W)                                                                                                \
    template [[host_name("matvec_" #name "_1")]] kernel matvec_kernel matvec<W, 1>;                                    \
    template [[host_name("matvec_" #name "_4")]] kernel matvec_kernel matvec<W, 4>;
EACH_FORMAT(MATVEC)
