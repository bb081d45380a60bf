// y[m, n] = x[m, k] . W[n, k]^T for one or a few rows of x: bound by the bandwidth at which W is read.
#include "product.h"
#include "weights.h"

// Lanes that share a row of W; a power of two up to 32. 32 makes a simdgroup read consecutive bytes (what a GPU
// coalesces); 1 gives each lane rows of its own and needs no reduction (what a device that runs lanes one after another
// wants).
constant uint lanes_per_row [[function_constant(0)]];

constant constexpr uint simd_width = 32;
constant constexpr uint rows_per_lane = 4;

inline float horizontal_sum(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

inline float4 sum_over_row(float4 v) {
    if (lanes_per_row == simd_width) {
        return simd_sum(v);
    }
    for (uint distance = lanes_per_row / 2; distance > 0; distance /= 2) {
        v += simd_shuffle_xor(v, ushort(distance));
    }
    return v;
}

// Each lane owns four rows of W (or its share of them) against `Columns` rows of x.
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
    const uint part = lane % lanes_per_row;
    const uint set = (group.x * simdgroups + simdgroup) * (simd_width / lanes_per_row) + lane / lanes_per_row;
    const uint row = set * rows_per_lane;
    const uint column = group.y * Columns;

    // Past the edges the last row is read again and its result dropped.
    const uint first = first_row(arguments, chosen, column);
    device const uchar *rows[rows_per_lane];
    for (uint r = 0; r < rows_per_lane; r++) {
        rows[r] = weights + (first + min(row + r, n - 1)) * W::row_bytes(k);
    }
    device const float *columns[Columns];
    for (uint c = 0; c < Columns; c++) {
        columns[c] = x + ulong(row_of_x(arguments, min(column + c, arguments.m - 1))) * k;
    }

    float4 sums[Columns][rows_per_lane];
    for (uint c = 0; c < Columns; c++) {
        for (uint r = 0; r < rows_per_lane; r++) {
            sums[c][r] = float4(0.0f);
        }
    }
    const uint chunks = k / chunk_elements;
    for (uint chunk = part; chunk < chunks; chunk += lanes_per_row) {
        Chunk activations[Columns];
        for (uint c = 0; c < Columns; c++) {
            activations[c] = load_activations<W>(columns[c], chunk);
        }
        for (uint r = 0; r < rows_per_lane; r++) {
            const Chunk w = W::load(rows[r], chunk);
            for (uint c = 0; c < Columns; c++) {
                sums[c][r] = multiply_add(w, activations[c], sums[c][r]);
            }
        }
    }
    const uint tail = k % chunk_elements;
    if (W::ragged && tail > 0 && part == chunks % lanes_per_row) {
        for (uint c = 0; c < Columns; c++) {
            const Chunk activations = load_some(columns[c] + chunks * chunk_elements, tail);
            for (uint r = 0; r < rows_per_lane; r++) {
                sums[c][r] = multiply_add(W::load_tail(rows[r], chunks, tail), activations, sums[c][r]);
            }
        }
    }

    for (uint c = 0; c < Columns; c++) {
        const float4 total = sum_over_row(float4(horizontal_sum(sums[c][0]), horizontal_sum(sums[c][1]),
                                                 horizontal_sum(sums[c][2]), horizontal_sum(sums[c][3])));
        if (part == 0 && column + c < arguments.m) {
            device float *out = y + ulong(column + c) * n;
            for (uint r = 0; r < rows_per_lane; r++) {
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
