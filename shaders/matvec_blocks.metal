// y[m, n] = x[m, k] . W[n, k]^T for one or a few rows of x and quantized weights, each lane on rows of its own: for
// devices that run lanes one after another. A lane unpacks blocks into scalars, and the compiler makes vectors of the
// loops over these. GPUs run `matvec` instead. Every device runs `matvec` for f32 and f16.
#include "product.h"
#include "weights.h"

constant constexpr uint rows_per_lane = 4;

// Each lane owns four rows of W against `Columns` rows of x.
template <typename W, uint Columns>
kernel void matvec_blocks(constant ProductArguments &arguments [[buffer(0)]],
                          device const uchar *weights [[buffer(1)]],
                          device const float *x [[buffer(2)]],
                          device float *y [[buffer(3)]],
                          device const float *bias [[buffer(4), function_constant(has_bias)]],
                          device const uint *chosen [[buffer(5), function_constant(is_chosen)]],
                          uint2 position [[thread_position_in_grid]]) {
    const uint n = arguments.n;
    const uint k = arguments.k;
    const uint row = position.x * rows_per_lane;
    const uint column = position.y * Columns;

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

    // Element i of a half meets element i of the other: sixteen sums side by side, added up at the end. Every loop but
    // that over the blocks is unrolled, so that all of them stay in registers.
    float sums[Columns][rows_per_lane][half_block];
    #pragma clang loop unroll(full)
    for (uint i = 0; i < Columns * rows_per_lane * half_block; i++) {
        sums[i / (rows_per_lane * half_block)][i / half_block % rows_per_lane][i % half_block] = 0.0f;
    }
    // A vector holds elements of one block: vectors across blocks would gather them.
    #pragma clang loop vectorize(disable)
    for (uint block = 0; block < k / block_elements; block++) {
        #pragma clang loop unroll(full)
        for (uint r = 0; r < rows_per_lane; r++) {
            const Block w = W::load_block(rows[r], block);
            #pragma clang loop unroll(full)
            for (uint c = 0; c < Columns; c++) {
                device const float *low = columns[c] + block * block_elements;
                device const float *high = low + half_block;
                #pragma clang loop unroll(full)
                for (uint i = 0; i < half_block; i++) {
                    sums[c][r][i] = fma(fma(w.low[i], low[i], w.high[i] * high[i]), w.scale, sums[c][r][i]);
                }
            }
        }
    }

    #pragma clang loop unroll(full)
    for (uint c = 0; c < Columns; c++) {
        #pragma clang loop unroll(full)
        for (uint r = 0; r < rows_per_lane; r++) {
            float total = 0.0f;
            #pragma clang loop unroll(full)
            for (uint i = 0; i < half_block; i++) {
                total += sums[c][r][i];
            }
            if (row + r < n && column + c < arguments.m) {
                device float *out = y + ulong(column + c) * n + row + r;
                *out = finished(arguments, total, bias, first + row + r, out);
            }
        }
    }
}

typedef decltype(matvec_blocks<Q8_0, 1>) matvec_kernel;

#define MATVEC_BLOCKS(name, W)                                                                                         \
    template [[host_name("matvec_blocks_" #name "_1")]] kernel matvec_kernel matvec_blocks<W, 1>;                      \
    template [[host_name("matvec_blocks_" #name "_4")]] kernel matvec_kernel matvec_blocks<W, 4>;
EACH_BLOCK_FORMAT(MATVEC_BLOCKS)
