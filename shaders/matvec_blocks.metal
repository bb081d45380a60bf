// y[m, n] = x[m, k] . W[n, k]^T for few rows of x, each lane on rows of W of its own: for devices that run lanes one
// after another. GPUs run `matvec` instead.
//
// A lane unpacks a step of its rows as floats once, and multiplies it with every row of x that it has. An element of y
// has the same bits whatever the other rows of x are: all kernels add up its terms by `multiply` and `total`, in one
// order.
#include "product.h"
#include "vector_loop.h"
#include "weights.h"

// Sums of an element of y side by side, each of every sixteenth term.
constant constexpr uint width = 16;

// Adds the products of `count` elements, whole blocks, of `Rows` rows of W with `Columns` rows of x. Of the sums of an
// element of y, as many are computed at a time as leave `Rows` times `width` in all: four rows fill half of the
// registers of processors that have 16 of 32 bytes, enough to hide the time of an addition. Each number that is loaded
// is multiplied `Rows` or `Columns` times.
template <uint Rows, uint Columns, uint MaxColumns, typename Elements>
METAL_FUNC void multiply(thread float *sums, const thread Elements *rows, device const float *const thread *columns,
                         uint count) {
    constexpr uint wide = width / Columns;
    #pragma clang loop unroll(full)
    for (uint start = 0; start < width; start += wide) {
        float sum[Rows][Columns][wide];
        #pragma clang loop unroll(full)
        for (uint of = 0; of < Rows * Columns; of++) {
            thread const float *before = sums + (of / Columns * MaxColumns + of % Columns) * width + start;
            ONE_VECTOR(wide)
            for (uint i = 0; i < wide; i++) sum[of / Columns][of % Columns][i] = before[i];
        }
        // A vector holds elements of one block: vectors across blocks would gather them.
        #pragma clang loop unroll(disable) vectorize(disable)
        for (uint block = 0; block < count; block += block_elements) {
            #pragma clang loop unroll(full)
            for (uint part = start; part < block_elements; part += width) {
                #pragma clang loop unroll(full)
                for (uint of = 0; of < Rows * Columns; of++) {
                    Elements row = rows[of / Columns] + block + part;
                    device const float *column = columns[of % Columns] + block + part;
                    thread float *to = sum[of / Columns][of % Columns];
                    ONE_VECTOR(wide)
                    for (uint i = 0; i < wide; i++) to[i] = fma(widen(row[i]), column[i], to[i]);
                }
            }
        }
        #pragma clang loop unroll(full)
        for (uint of = 0; of < Rows * Columns; of++) {
            thread float *after = sums + (of / Columns * MaxColumns + of % Columns) * width + start;
            ONE_VECTOR(wide)
            for (uint i = 0; i < wide; i++) after[i] = sum[of / Columns][of % Columns][i];
        }
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

// Each lane owns `Rows` rows of W against up to `MaxColumns` rows of x, `Columns` of these at a time. It unpacks `Step`
// elements of its rows at a time: the formats' blocks divide 512, and a step of one block stays in registers. The rows
// of a lane are a threadgroup apart. So as many streams of bytes as a lane has rows run through the whole threadgroup,
// and processors read ahead in each.
template <typename W, uint Rows, uint Columns, uint MaxColumns, uint Step>
kernel void matvec_blocks(constant ProductArguments &arguments [[buffer(0)]],
                          device const uchar *weights [[buffer(1)]],
                          device const float *x [[buffer(2)]],
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

    float sums[Rows * MaxColumns * width];
    #pragma clang loop unroll(full)
    for (uint r = 0; r < Rows; r++) {
        for (uint c = 0; c < columns_here; c += Columns) {
            #pragma clang loop unroll(full)
            for (uint i = 0; i < Columns * width; i++) {
                sums[(r * MaxColumns + c) * width + i] = 0.0f;
            }
        }
    }
    float unpacked[Rows * Step];
    for (uint step = 0, count; step < k; step += count) {
        count = !W::ragged && Step == W::step ? Step : min(Step, k - step);
        typename W::Elements elements[Rows];
        // What does not stay in registers gains nothing by code for each row.
        #pragma clang loop unroll_count(Step == block_elements ? Rows : 1)
        for (uint r = 0; r < Rows; r++) {
            elements[r] = W::elements(rows[r], step, count, unpacked + r * Step);
        }
        const uint tail = W::ragged ? count % block_elements : 0;
        for (uint c = 0; c < columns_here; c += Columns) {
            device const float *columns[Columns];
            #pragma clang loop unroll(full)
            for (uint i = 0; i < Columns; i++) {
                columns[i] = x + ulong(row_of_x(arguments, min(column + c + i, arguments.m - 1))) * k + step;
            }
            multiply<Rows, Columns, MaxColumns>(sums + c * width, elements, columns, count - tail);
            for (uint i = count - tail; i < count; i++) {
                for (uint of = 0; of < Rows * Columns; of++) {
                    const uint r = of / Columns, of_c = of % Columns;
                    thread float *sum = sums + (r * MaxColumns + c + of_c) * width + i % width;
                    *sum = fma(widen(elements[r][i]), columns[of_c][i], *sum);
                }
            }
        }
    }

    #pragma clang loop unroll(full)
    for (uint r = 0; r < Rows; r++) {
        for (uint c = 0; c < columns_here && r * apart < n - row; c++) {
            device float *out = y + ulong(column + c) * n + row + r * apart;
            *out = finished(arguments, total(sums + (r * MaxColumns + c) * width), bias, first + row + r * apart, out);
        }
    }
}

typedef decltype(matvec_blocks<Q8_0, 4, 1, 1, Q8_0::step>) matvec_kernel;

#define MATVEC_BLOCKS(name, W)                                                                                         \
    template                                                                                                           \
        [[host_name("matvec_blocks_" #name "_1")]] kernel matvec_kernel matvec_blocks<W, 4, 1, 1, W::step>;           \
    template [[host_name("matvec_blocks_" #name "_32")]] kernel matvec_kernel matvec_blocks<W, 4, 2, 32, 512>;
EACH_FORMAT(MATVEC_BLOCKS)
