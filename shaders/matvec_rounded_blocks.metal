// y[m, n] = x[m, k] . W[n, k]^T for x rounded to 8 bits, each lane on rows of W of its own: for devices that run lanes
// one after another. GPUs run `matvec_rounded` instead.
//
// A lane unpacks a step of its rows as whole numbers once, and multiplies it with every row of x that it has. All sums
// of whole numbers are exact, and those of floats have one order, so that an element of y has the same bits whatever
// the other rows of x are.
#include "product.h"
#include "rounded.h"
#include "vector_loop.h"
#include "weights.h"

// Elements of a row of W that a lane unpacks at a time: the formats' blocks divide it.
constant constexpr uint step_elements = 256;
static_assert(rounded_block_elements == block_elements, "a scale of each for a block");
constant constexpr uint step_blocks = step_elements / block_elements;
constant constexpr uint step_chunks = step_elements / chunk_elements;
// Sums of an element of y side by side: each of the products of two neighbours, every sixteenth element.
constant constexpr uint width = 8;

// Rows of W as whole numbers. The offsets of a step that is not whole are zero behind its end.
template <uint Rows> struct Unpacked8 {
    short numbers[Rows][step_elements];
    float scales[Rows][step_blocks];
    float offsets[Rows][step_chunks];
};

// Adds the products of `blocks` blocks, from `first` on, of `Rows` rows of W with a row of x.
template <typename W, uint Rows>
METAL_FUNC void multiply(thread float *sums, thread const Unpacked8<Rows> &rows, RoundedRow x, uint first,
                         uint blocks) {
    float sum[Rows][width];
    #pragma clang loop unroll(full)
    for (uint r = 0; r < Rows; r++) {
        ONE_VECTOR(width)
        for (uint i = 0; i < width; i++) sum[r][i] = (sums + r * width)[i];
    }
    #pragma clang loop unroll(disable) vectorize(disable)
    for (uint block = 0; block < blocks; block++) {
        device const char *from = x.numbers + (first + block) * block_elements;
        const float scale = x.scales[first + block];
        short column[chunk_elements], other[chunk_elements];
        CHUNK_LOOP
        for (uint i = 0; i < chunk_elements; i++) column[i] = from[i];
        CHUNK_LOOP
        for (uint i = 0; i < chunk_elements; i++) other[i] = (from + chunk_elements)[i];
        #pragma clang loop unroll(full)
        for (uint r = 0; r < Rows; r++) {
            thread const short *row = rows.numbers[r] + block * block_elements;
            thread const short *other_row = row + chunk_elements;
            const float both = rows.scales[r][block] * scale;
            // On x86 the products of two neighbours in a loop become one instruction. A third term would break that, so
            // that sums of sums have a loop of their own.
            int low[width], high[width];
            ONE_VECTOR(width)
            for (uint i = 0; i < width; i++) {
                low[i] = int(row[2 * i]) * int(column[2 * i]) + int(row[2 * i + 1]) * int(column[2 * i + 1]);
            }
            ONE_VECTOR(width)
            for (uint i = 0; i < width; i++) {
                high[i] = int(other_row[2 * i]) * int(other[2 * i]) + int(other_row[2 * i + 1]) * int(other[2 * i + 1]);
            }
            ONE_VECTOR(width)
            for (uint i = 0; i < width; i++) sum[r][i] = fma(float(low[i] + high[i]), both, sum[r][i]);
        }
    }
    if (W::has_offsets) {
        const uint chunks = blocks * (block_elements / chunk_elements);
        device const float *from = x.sums + first * (block_elements / chunk_elements);
        #pragma clang loop unroll(disable) vectorize(disable)
        for (uint chunk = 0; chunk < chunks; chunk += width) {
            float column[width];
            for (uint i = 0; i < width; i++) column[i] = chunk + i < chunks ? from[chunk + i] : 0.0f;
            #pragma clang loop unroll(full)
            for (uint r = 0; r < Rows; r++) {
                ONE_VECTOR(width)
                for (uint i = 0; i < width; i++) sum[r][i] = fma((rows.offsets[r] + chunk)[i], column[i], sum[r][i]);
            }
        }
    }
    #pragma clang loop unroll(full)
    for (uint r = 0; r < Rows; r++) {
        ONE_VECTOR(width)
        for (uint i = 0; i < width; i++) (sums + r * width)[i] = sum[r][i];
    }
}

inline float total(thread const float *sums) {
    float result = 0.0f;
    #pragma clang loop unroll(full)
    for (uint i = 0; i < width; i++) {
        result += sums[i];
    }
    return result;
}

// Each lane owns `Rows` rows of W against up to `MaxColumns` rows of x, or one if each takes the matrix of an expert.
// The rows of a lane are a threadgroup apart, as in `matvec_blocks`.
template <typename W, uint Rows, uint MaxColumns>
kernel void matvec_rounded_blocks(constant ProductArguments &arguments [[buffer(0)]],
                                  device const uchar *weights [[buffer(1)]],
                                  device const uchar *x [[buffer(2)]],
                                  device float *y [[buffer(3)]],
                                  device const float *bias [[buffer(4), function_constant(has_bias)]],
                                  device const uint *chosen [[buffer(5), function_constant(is_chosen)]],
                                  uint2 group [[threadgroup_position_in_grid]],
                                  uint2 threads [[threads_per_threadgroup]],
                                  uint lane [[thread_index_in_threadgroup]]) {
    const uint n = arguments.n;
    const uint k = arguments.k;
    const uint apart = threads.x;
    const uint row = group.x * apart * Rows + lane;
    if (row >= n) {
        return;
    }
    const uint column = group.y * MaxColumns;
    const uint columns_here = MaxColumns == 1 ? 1 : min(MaxColumns, arguments.m - column);

    // Past the edges the last row is read again and its result dropped.
    const uint first = first_row(arguments, chosen, column);
    device const uchar *rows[Rows];
    #pragma clang loop unroll(full)
    for (uint r = 0; r < Rows; r++) {
        rows[r] = weights + (first + row + min(r * apart, n - 1 - row)) * W::row_bytes(k);
    }

    float sums[MaxColumns * Rows * width];
    for (uint i = 0; i < columns_here * Rows; i++) {
        ONE_VECTOR(width)
        for (uint of = 0; of < width; of++) (sums + i * width)[of] = 0.0f;
    }
    Unpacked8<Rows> unpacked;
    for (uint step = 0, count; step < k; step += count) {
        count = W::step == step_elements ? step_elements : min(step_elements, k - step);
        #pragma clang loop unroll(full)
        for (uint r = 0; r < Rows; r++) {
            W::integers(rows[r], step, count, unpacked.numbers[r], unpacked.scales[r], unpacked.offsets[r]);
            if (W::has_offsets) {
                for (uint i = count / chunk_elements; i < step_chunks; i++) unpacked.offsets[r][i] = 0.0f;
            }
        }
        for (uint c = 0; c < columns_here; c++) {
            const RoundedRow of_x = rounded_row(x, row_of_x(arguments, column + c), k);
            multiply<W, Rows>(sums + c * Rows * width, unpacked, of_x, step / block_elements, count / block_elements);
        }
    }

    #pragma clang loop unroll(full)
    for (uint r = 0; r < Rows; r++) {
        for (uint c = 0; c < columns_here && r * apart < n - row; c++) {
            device float *out = y + ulong(column + c) * n + row + r * apart;
            *out = finished(arguments, total(sums + (c * Rows + r) * width), bias, first + row + r * apart, out);
        }
    }
}

typedef decltype(matvec_rounded_blocks<Q8_0, 4, 1>) matvec_kernel;

#define MATVEC_ROUNDED_BLOCKS(name, W)                                                                                 \
    template [[host_name("matvec_rounded_blocks_" #name "_1")]] kernel matvec_kernel matvec_rounded_blocks<W, 4, 1>;   \
    template [[host_name("matvec_rounded_blocks_" #name "_32")]] kernel matvec_kernel matvec_rounded_blocks<W, 8, 32>;
EACH_BLOCK_FORMAT(MATVEC_ROUNDED_BLOCKS)
