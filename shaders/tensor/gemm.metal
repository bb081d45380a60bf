// y = activation(alpha A B + beta C + bias) for matrices of any strides, in batches.
//
// A threadgroup makes a tile of y. It goes along k in steps: it packs a step of B, then of A some rows at a time, as
// floats, and each thread multiplies with sums in registers. Where lanes run in turn, a threadgroup is one thread with
// large tiles, whose inner loops become vector loops. Integers are multiplied as floats, too: the sums of a step are
// exact, and then added up as integers.
#include "gemm.h"

// A threadgroup has threads along n and along m, and takes blocks of rows and panels of columns. A thread has rows in
// each block and columns in each panel. src/ops/tensor/matmul.rs has the same numbers.
constant constexpr bool in_turn = BLOCK > short_block;
constant constexpr uint threads = in_turn ? 1 : 16;
constant constexpr uint row_blocks = in_turn ? 16 : 1;
constant constexpr uint panels = in_turn ? 4 : 1;
constant constexpr uint thread_rows = in_turn ? 8 : 4;
constant constexpr uint thread_columns = in_turn ? 32 : 4;
// Elements of a step along k: at most 512, so that sums of products of bytes stay below 2^24.
constant constexpr uint k_step = in_turn ? 192 : 16;

constant constexpr uint block_rows = thread_rows * threads;
constant constexpr uint panel_columns = thread_columns * threads;
// Rows that lie a power of two apart would share few sets of a cache.
constant constexpr uint left_stride = k_step + (in_turn ? 16 : 1);

// Columns of B that a thread transposes together.
constant constexpr uint together = in_turn ? 8 : 1;

// Where a lone thread packs: its own memory, since a threadgroup has too little.
#if BLOCK > 8
#define PACKED thread
#else
#define PACKED threadgroup
#endif

inline void meet() {
    if (!in_turn) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

// Rows from `row` on of a step of A, row by row. Past the last row it comes again, and its results are dropped.
template <typename T>
inline void pack_left(constant Arguments &arguments, device const T *a, uint row, uint k, uint count, uint2 member,
                      PACKED float *left) {
    if (has(arguments, RowsOfA)) {
        for (uint i = member.y; i < block_rows; i += threads) {
            device const T *from = a + ulong(min(row + i, arguments.m - 1)) * arguments.a.row + k;
            for (uint at = member.x; at < count; at += threads) {
                left[i * left_stride + at] = load(from[at]);
            }
        }
        return;
    }
    for (uint at = member.y; at < count; at += threads) {
        device const T *from = a + ulong(k + at) * arguments.a.column;
        for (uint i = member.x; i < block_rows; i += threads) {
            left[i * left_stride + at] = load(from[min(row + i, arguments.m - 1) * arguments.a.row]);
        }
    }
}

// A step of B, from `column` on: in a panel the columns of an element of k lie side by side. Past the last column
// there may be anything, since its results are dropped.
template <typename T>
inline void pack_right(constant Arguments &arguments, device const T *b, uint column, uint used, uint k, uint count,
                       uint2 member, PACKED float *right) {
    if (!has(arguments, RowsOfB)) {
        for (uint j = member.y * together; j < used * panel_columns; j += threads * together) {
            device const T *from[together];
            for (uint t = 0; t < together; t++) {
                const uint at = min(column + j + t, arguments.n - 1);
                from[t] = b + k * arguments.b.row + at * arguments.b.column;
            }
            PACKED float *to = right + j / panel_columns * (k_step * panel_columns) + j % panel_columns;
            for (uint at = member.x; at < count; at += threads) {
                #pragma clang loop unroll(full)
                for (uint t = 0; t < together; t++) {
                    to[at * panel_columns + t] = load(from[t][at * arguments.b.row]);
                }
            }
        }
        return;
    }
    for (uint at = member.y; at < count; at += threads) {
        device const T *from = b + (k + at) * arguments.b.row + column;
        for (uint panel = 0; panel < used; panel++) {
            const uint columns = arguments.n - column - panel * panel_columns;
            PACKED float *to = right + (panel * k_step + at) * panel_columns;
            if (columns >= panel_columns) {
                for (uint j = member.x; j < panel_columns; j += threads) {
                    to[j] = load(from[panel * panel_columns + j]);
                }
            } else {
                for (uint j = member.x; j < panel_columns; j += threads) {
                    to[j] = j < columns ? load(from[panel * panel_columns + j]) : 0.0f;
                }
            }
        }
    }
}

// Adds the products of a step to a thread's totals. `left` and `right` begin at its first row and column.
template <typename C>
inline void multiply(PACKED const float *left, PACKED const float *right, uint count, bool in_groups,
                     thread const float *scale_a, thread const float *scale_b, thread C *totals) {
    float sums[thread_rows][thread_columns];
    #pragma clang loop unroll(full)
    for (uint i = 0; i < thread_rows; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < thread_columns; j++) {
            sums[i][j] = 0.0f;
        }
    }
    for (uint at = 0; at < count; at++, left++, right += panel_columns) {
        #pragma clang loop unroll(full)
        for (uint i = 0; i < thread_rows; i++) {
            const float x = left[i * left_stride];
            #pragma clang loop unroll(full)
            for (uint j = 0; j < thread_columns; j++) {
                sums[i][j] = fma(x, right[j], sums[i][j]);
            }
        }
    }
    // By way of memory, so that the loops in `take` need not be unrolled.
    float found[thread_rows * thread_columns];
    #pragma clang loop unroll(full)
    for (uint i = 0; i < thread_rows; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < thread_columns; j++) {
            found[i * thread_columns + j] = sums[i][j];
        }
    }
    take<thread_rows, thread_columns>(in_groups, scale_a, scale_b, found, totals);
}

template <typename T, typename U>
kernel void gemm(constant Arguments &arguments [[buffer(0)]],
                 device uchar *y [[buffer(1)]],
                 device const T *a [[buffer(2)]],
                 device const U *b [[buffer(3)]],
                 device const uchar *c [[buffer(4)]],
                 device const uchar *bias [[buffer(5)]],
                 device const uchar *scale_a [[buffer(6)]],
                 device const uchar *scale_b [[buffer(7)]],
                 uint3 group [[threadgroup_position_in_grid]],
                 uint3 position [[thread_position_in_threadgroup]]) {
    typedef typename Total<T>::type C;
    PACKED float left[block_rows * left_stride];
    PACKED float right[panels * k_step * panel_columns];
    C totals[row_blocks * panels * thread_rows * thread_columns];

    const uint2 member = position.xy;
    const uint row0 = group.y * (row_blocks * block_rows);
    const uint column0 = group.x * (panels * panel_columns);
    const uint used_blocks = min(row_blocks, (arguments.m - row0 + block_rows - 1) / block_rows);
    const uint used_panels = min(panels, (arguments.n - column0 + panel_columns - 1) / panel_columns);
    const Outputs outputs = {y, c, bias, (device const float *)scale_a, (device const float *)scale_b,
                             offsets_of(arguments.batches, group.z)};
    // The first of a thread's rows and columns, in a block and in a panel.
    const uint own_row = member.y * thread_rows;
    const uint own_column = member.x * thread_columns;

    for (uint i = 0; i < used_blocks * panels * thread_rows * thread_columns; i++) {
        totals[i] = 0;
    }
    const bool in_groups = has(arguments, InGroups);
    uint count = 0;
    for (uint k = 0; k < arguments.k; k += count) {
        count = min(k_step, arguments.k - k);
        const uint group_of_k = k / arguments.group;
        if (in_groups) {
            count = min(count, arguments.group - k % arguments.group);
        }
        pack_right(arguments, b + outputs.offsets.at[2], column0, used_panels, k, count, member, right);
        for (uint block = 0; block < used_blocks; block++) {
            const uint row = row0 + block * block_rows;
            pack_left(arguments, a + outputs.offsets.at[1], row, k, count, member, left);
            meet();
            float scales_of_rows[thread_rows];
            if (in_groups) {
                scales_of<thread_rows>(has(arguments, HasScaleA), outputs.scale_a, arguments.scale_a, row + own_row,
                                       arguments.m, group_of_k, scales_of_rows);
            }
            for (uint panel = 0; panel < used_panels; panel++) {
                const uint column = column0 + panel * panel_columns + own_column;
                float scales_of_columns[thread_columns];
                if (in_groups) {
                    scales_of<thread_columns>(has(arguments, HasScaleB), outputs.scale_b, arguments.scale_b, column,
                                              arguments.n, group_of_k, scales_of_columns);
                }
                multiply(left + own_row * left_stride, right + panel * k_step * panel_columns + own_column, count,
                         in_groups, scales_of_rows, scales_of_columns,
                         totals + (block * panels + panel) * thread_rows * thread_columns);
            }
            meet();
        }
    }
    for (uint block = 0; block < used_blocks; block++) {
        for (uint i = 0; i < thread_rows; i++) {
            const uint row = row0 + block * block_rows + own_row + i;
            for (uint panel = 0; row < arguments.m && panel < used_panels; panel++) {
                const uint column = column0 + panel * panel_columns + own_column;
                const uint columns = column < arguments.n ? min(thread_columns, arguments.n - column) : 0;
                thread const C *found = totals + ((block * panels + panel) * thread_rows + i) * thread_columns;
                if (arguments.y_type == I32) {
                    finish_integers(arguments, outputs, row, column, columns, found);
                } else {
                    finish(arguments, outputs, row, column, columns, found);
                }
            }
        }
    }
}

template [[host_name("gemm_f32")]] kernel decltype(gemm<float, float>) gemm<float, float>;
template [[host_name("gemm_f16")]] kernel decltype(gemm<half, half>) gemm<half, half>;
template [[host_name("gemm_bf16")]] kernel decltype(gemm<bf16, bf16>) gemm<bf16, bf16>;
template [[host_name("gemm_i8")]] kernel decltype(gemm<char, char>) gemm<char, char>;
template [[host_name("gemm_u8")]] kernel decltype(gemm<uchar, char>) gemm<uchar, char>;
