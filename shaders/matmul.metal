// y[m, n] = x[m, k] . W[n, k]^T for many rows of x, on simdgroup matrices.
//
// A threadgroup of two simdgroups makes a tile of y: 64 rows of W by `Columns` rows of x. It walks along k in steps of
// 32: all threads unpack the step's weights and activations as floats into threadgroup memory, then every simdgroup
// multiplies all of the weights with its half of the activations. The product is made transposed (W . x^T), so that the
// weights, the larger side, are loaded as they lie.
#include "product.h"
#include "weights.h"

#include <metal_simdgroup_matrix>

constant constexpr uint tile_rows = 64;
constant constexpr uint tile_k = 32;
constant constexpr uint threads = 64;

// Chunk `chunk` of a row of k elements: whole, cut by the end of the row, or past it (zeros).
template <typename W>
inline Chunk load_weights(device const uchar *row, uint chunk, uint k) {
    const uint whole = k / chunk_elements;
    if (chunk < whole) {
        return W::load(row, chunk);
    }
    return W::load_tail(row, chunk, chunk == whole ? k % chunk_elements : 0);
}

template <typename W>
inline Chunk load_row_of_x(device const float *row, uint chunk, uint k) {
    const uint whole = k / chunk_elements;
    if (chunk < whole) {
        return load_activations<W>(row, chunk);
    }
    return load_some(row + chunk * chunk_elements, chunk == whole ? k % chunk_elements : 0);
}

// Writes chunk `chunk` of a step of row `row`, an operand being in 8x8 blocks.
template <typename W>
inline void store_chunk(threadgroup float4 *operand, uint row, uint chunk, Chunk values) {
    threadgroup float4 *block = operand + (row / 8) * (tile_k / 8) * 16 + (row % 8) * 2;
    const uint first = W::first(chunk) / 8;
    const uint second = first + W::second / 8;
    block[first * 16] = values.scaled(0);
    block[first * 16 + 1] = values.scaled(1);
    block[second * 16] = values.scaled(2);
    block[second * 16 + 1] = values.scaled(3);
}

template <typename W, uint Columns>
kernel void matmul(constant ProductArguments &arguments [[buffer(0)]],
                   device const uchar *weights [[buffer(1)]],
                   device const float *x [[buffer(2)]],
                   device float *y [[buffer(3)]],
                   device const float *bias [[buffer(4), function_constant(has_bias)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint thread_index [[thread_index_in_threadgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    // Both operands as they come, row by row of W and of x, in 8x8 blocks of 64 consecutive floats each, so that a
    // block's rows fall on different banks; the blocks of x are transposed when they are loaded.
    constexpr uint weight_floats = tile_rows * tile_k;
    constexpr uint operand_floats = weight_floats + Columns * tile_k;
    constexpr uint out_stride = tile_rows + 4;
    constexpr uint out_floats = Columns * out_stride;
    // Blocks of 8x8 results of one simdgroup, which has half of the columns.
    constexpr uint row_blocks = tile_rows / 8;
    constexpr uint column_blocks = Columns / 16;
    // Two chunks make a step of a row: so many are a thread's to unpack.
    constexpr uint weight_chunks = tile_rows * 2 / threads;
    constexpr uint activation_chunks = Columns * 2 / threads;
    // An array of float4, so that it is aligned for them.
    threadgroup float4 memory4[(operand_floats > out_floats ? operand_floats : out_floats) / 4];
    threadgroup float *memory = (threadgroup float *)memory4;
    threadgroup float4 *activations4 = memory4 + weight_floats / 4;

    const uint k = arguments.k;
    const uint n = arguments.n;
    const uint m = arguments.m;
    const uint row0 = group.x * tile_rows;
    const uint column0 = group.y * Columns;

    // Neighbouring threads take the two chunks of a row. Past the edges the last row is read again and its result
    // dropped.
    const uint first_row = thread_index / 2;
    const uint chunk_of_step = thread_index % 2;
    device const uchar *weight_source[weight_chunks];
    for (uint i = 0; i < weight_chunks; i++) {
        weight_source[i] = weights + min(row0 + first_row + i * (threads / 2), n - 1) * W::row_bytes(k);
    }
    device const float *activation_source[activation_chunks];
    for (uint i = 0; i < activation_chunks; i++) {
        activation_source[i] = x + ulong(min(column0 + first_row + i * (threads / 2), m - 1)) * k;
    }

    simdgroup_float8x8 sums[row_blocks][column_blocks];
    #pragma clang loop unroll(full)
    for (uint i = 0; i < row_blocks; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < column_blocks; j++) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    threadgroup const float *simdgroup_activations =
        memory + weight_floats + simdgroup * column_blocks * (tile_k / 8) * 64;

    for (uint chunk = 0; chunk * chunk_elements < k; chunk += tile_k / chunk_elements) {
        for (uint i = 0; i < weight_chunks; i++) {
            const Chunk w = load_weights<W>(weight_source[i], chunk + chunk_of_step, k);
            store_chunk<W>(memory4, first_row + i * (threads / 2), chunk_of_step, w);
        }
        for (uint i = 0; i < activation_chunks; i++) {
            const Chunk a = load_row_of_x<W>(activation_source[i], chunk + chunk_of_step, k);
            store_chunk<W>(activations4, first_row + i * (threads / 2), chunk_of_step, a);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        for (uint kb = 0; kb < tile_k / 8; kb++) {
            simdgroup_float8x8 a[row_blocks];
            simdgroup_float8x8 b[column_blocks];
            #pragma clang loop unroll(full)
            for (uint i = 0; i < row_blocks; i++) {
                simdgroup_load(a[i], memory + (i * (tile_k / 8) + kb) * 64, 8);
            }
            #pragma clang loop unroll(full)
            for (uint j = 0; j < column_blocks; j++) {
                simdgroup_load(b[j], simdgroup_activations + (j * (tile_k / 8) + kb) * 64, 8, ulong2(0, 0), true);
            }
            #pragma clang loop unroll(full)
            for (uint i = 0; i < row_blocks; i++) {
                #pragma clang loop unroll(full)
                for (uint j = 0; j < column_blocks; j++) {
                    simdgroup_multiply_accumulate(sums[i][j], a[i], b[j], sums[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    // Through threadgroup memory: transposed back, then written four wide where the tile is whole.
    threadgroup float *out = memory + simdgroup * column_blocks * 8 * out_stride;
    #pragma clang loop unroll(full)
    for (uint i = 0; i < row_blocks; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < column_blocks; j++) {
            simdgroup_store(sums[i][j], out + j * 8 * out_stride + i * 8, out_stride, ulong2(0, 0), true);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint rows_here = min(tile_rows, n - row0);
    const uint columns_here = min(Columns, m - column0);
    for (uint quad = thread_index; quad < columns_here * (tile_rows / 4); quad += threads) {
        const uint column = quad / (tile_rows / 4);
        const uint row = quad % (tile_rows / 4) * 4;
        const float4 value = memory4[(column * out_stride + row) / 4];
        device float *target = y + ulong(column0 + column) * n + row0 + row;
        if (row + 4 <= rows_here) {
            packed_float4 done;
            for (uint i = 0; i < 4; i++) {
                done[i] = finished(arguments, value[i], bias, row0 + row + i, target + i);
            }
            *(device packed_float4 *)target = done;
        } else {
            for (uint i = 0; row + i < rows_here; i++) {
                target[i] = finished(arguments, value[i], bias, row0 + row + i, target + i);
            }
        }
    }
}

typedef decltype(matmul<F32, 32>) matmul_kernel;

#define MATMUL(name, W)                                                                                                \
    template [[host_name("matmul_" #name "_32")]] kernel matmul_kernel matmul<W, 32>;                                  \
    template [[host_name("matmul_" #name "_64")]] kernel matmul_kernel matmul<W, 64>;
EACH_FORMAT(MATMUL)
