// y[m, n] = x[m, k] . W[n, k]^T for x rounded to 8 bits: whole numbers are multiplied, and their sums of 16 terms,
// which are exact, are scaled and added up as floats.
#include "product.h"
#include "rounded.h"
#include "weights.h"

constant constexpr uint simd_width = 32;
constant constexpr uint rows_per_simdgroup = 4;

inline int horizontal_sum(int4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

// Activations that a chunk of weights meets: their whole numbers, the scale of these, and their scaled sum.
struct RoundedChunk {
    int4 v[4];
    float scale;
    float sum;
};

// The activations that chunk `chunk` of a weight row of format W meets.
template <typename W> inline RoundedChunk load_rounded(RoundedRow x, uint chunk) {
    device const packed_char4 *low = (device const packed_char4 *)(x.numbers + W::first(chunk));
    device const packed_char4 *high = (device const packed_char4 *)(x.numbers + W::first(chunk) + W::second);
    RoundedChunk result;
    result.scale = x.scales[W::first(chunk) / block_elements];
    result.sum = x.sums[chunk];
    result.v[0] = int4(char4(low[0]));
    result.v[1] = int4(char4(low[1]));
    result.v[2] = int4(char4(high[0]));
    result.v[3] = int4(char4(high[1]));
    return result;
}

// sum + weights * activations, of a chunk.
template <typename W> inline float multiply_add(IntegerChunk weights, RoundedChunk activations, float sum) {
    int4 products = weights.v[0] * activations.v[0];
    for (uint i = 1; i < 4; i++) products += weights.v[i] * activations.v[i];
    const float scaled = fma(float(horizontal_sum(products)), weights.scale * activations.scale, sum);
    return W::has_offsets ? fma(weights.offset, activations.sum, scaled) : scaled;
}

// A simdgroup owns four rows of W against `Columns` rows of x. Its lanes read neighbouring bytes, which a GPU
// coalesces.
template <typename W, uint Columns>
kernel void matvec_rounded(constant ProductArguments &arguments [[buffer(0)]],
                           device const uchar *weights [[buffer(1)]],
                           device const uchar *x [[buffer(2)]],
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
    RoundedRow columns[Columns];
    for (uint c = 0; c < Columns; c++) {
        columns[c] = rounded_row(x, row_of_x(arguments, min(column + c, arguments.m - 1)), k);
    }

    float sums[Columns][rows_per_simdgroup];
    for (uint c = 0; c < Columns; c++) {
        for (uint r = 0; r < rows_per_simdgroup; r++) {
            sums[c][r] = 0.0f;
        }
    }
    for (uint chunk = lane; chunk < k / chunk_elements; chunk += simd_width) {
        RoundedChunk activations[Columns];
        for (uint c = 0; c < Columns; c++) {
            activations[c] = load_rounded<W>(columns[c], chunk);
        }
        for (uint r = 0; r < rows_per_simdgroup; r++) {
            const IntegerChunk w = W::load_integers(rows[r], chunk);
            for (uint c = 0; c < Columns; c++) {
                sums[c][r] = multiply_add<W>(w, activations[c], sums[c][r]);
            }
        }
    }

    for (uint c = 0; c < Columns; c++) {
        const float4 total = simd_sum(float4(sums[c][0], sums[c][1], sums[c][2], sums[c][3]));
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

typedef decltype(matvec_rounded<Q8_0, 1>) matvec_kernel;

#define MATVEC_ROUNDED(name, W)                                                                                        \
    template [[host_name("matvec_rounded_" #name "_1")]] kernel matvec_kernel matvec_rounded<W, 1>;                    \
    template [[host_name("matvec_rounded_" #name "_4")]] kernel matvec_kernel matvec_rounded<W, 4>;
EACH_BLOCK_FORMAT(MATVEC_ROUNDED)
