// The product of matrices if A has few rows: what is large is B, which is read once and not packed.
//
// Where lanes run in turn, a threadgroup is one thread with many columns of B, and the inner loops become vector loops.
// On a GPU a thread takes a column; or a simdgroup does, if neighbours along k lie side by side. Integers as in
// gemm.metal.
#include "gemm.h"

constant constexpr bool in_turn = BLOCK > short_block;
constant constexpr uint rows = 4;
// Elements of a step along k: at most 512, as in gemm.metal.
constant constexpr uint k_step = 512;
// Columns of a thread, and those that its registers hold the sums of. src/ops/tensor/matmul.rs has the same numbers.
constant constexpr uint columns = in_turn ? 256 : 1;
constant constexpr uint panel = 64;
constant constexpr uint lanes = 16;

// Elements of B from one column and element of k on.
template <typename U> struct Part {
    device const U *from;
    ulong along_k;
    ulong along_n;
    Part at(uint column) const { return {from + column * along_n, along_k, along_n}; }
};

// A panel of columns that lie side by side.
template <typename U>
inline void multiply_rows(thread const float *x, Part<U> b, uint count, thread float *found) {
    float sums[rows][panel];
    #pragma clang loop unroll(full)
    for (uint i = 0; i < rows; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < panel; j++) {
            sums[i][j] = 0.0f;
        }
    }
    for (uint at = 0; at < count; at++, x++, b.from += b.along_k) {
        #pragma clang loop unroll(full)
        for (uint i = 0; i < rows; i++) {
            const float factor = x[i * k_step];
            #pragma clang loop unroll(full)
            for (uint j = 0; j < panel; j++) {
                sums[i][j] = fma(factor, load(b.from[j]), sums[i][j]);
            }
        }
    }
    #pragma clang loop unroll(full)
    for (uint i = 0; i < rows; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < panel; j++) {
            found[i * columns + j] = sums[i][j];
        }
    }
}

// Some columns whose elements lie side by side: each lane has a part of the sums.
template <typename U>
inline void multiply_columns(thread const float *x, Part<U> b, uint count, thread float *found) {
    float sums[rows][rows][lanes];
    #pragma clang loop unroll(full)
    for (uint i = 0; i < rows; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < rows; j++) {
            #pragma clang loop unroll(full)
            for (uint lane = 0; lane < lanes; lane++) {
                sums[i][j][lane] = 0.0f;
            }
        }
    }
    // Vectors of lanes do not reach past the end of B.
    const uint whole = count / lanes * lanes;
    for (uint at = 0; at < whole; at += lanes) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < rows; j++) {
            device const U *from = b.from + j * b.along_n + at;
            #pragma clang loop unroll(full)
            for (uint i = 0; i < rows; i++) {
                #pragma clang loop unroll(full)
                for (uint lane = 0; lane < lanes; lane++) {
                    sums[i][j][lane] = fma(x[i * k_step + at + lane], load(from[lane]), sums[i][j][lane]);
                }
            }
        }
    }
    float parts[rows * rows * lanes];
    #pragma clang loop unroll(full)
    for (uint i = 0; i < rows; i++) {
        #pragma clang loop unroll(full)
        for (uint j = 0; j < rows; j++) {
            #pragma clang loop unroll(full)
            for (uint lane = 0; lane < lanes; lane++) {
                parts[(i * rows + j) * lanes + lane] = sums[i][j][lane];
            }
        }
    }
    for (uint i = 0; i < rows; i++) {
        for (uint j = 0; j < rows; j++) {
            float sum = 0.0f;
            for (uint lane = 0; lane < lanes; lane++) {
                sum += parts[(i * rows + j) * lanes + lane];
            }
            for (uint at = whole; at < count; at++) {
                sum = fma(x[i * k_step + at], load(b.from[j * b.along_n + at]), sum);
            }
            found[i * columns + j] = sum;
        }
    }
}

// A column of any layout.
template <typename U> inline void multiply_column(thread const float *x, Part<U> b, uint count, thread float *found) {
    float sums[rows] = {};
    for (uint at = 0; at < count; at++) {
        const float value = load(b.from[at * b.along_k]);
        for (uint i = 0; i < rows; i++) {
            sums[i] = fma(x[i * k_step + at], value, sums[i]);
        }
    }
    for (uint i = 0; i < rows; i++) {
        found[i * columns] = sums[i];
    }
}

// The sums of a step of a thread that runs alone.
template <typename T, typename U>
inline void multiply_alone(constant Arguments &arguments, device const T *a, Part<U> b, uint k, uint count, uint used,
                           thread float *found) {
    float x[rows * k_step];
    for (uint i = 0; i < rows; i++) {
        device const T *from = a + min(i, arguments.m - 1) * arguments.a.row + k * arguments.a.column;
        if (has(arguments, RowsOfA)) {
            for (uint at = 0; at < count; at++) {
                x[i * k_step + at] = load(from[at]);
            }
        } else {
            for (uint at = 0; at < count; at++) {
                x[i * k_step + at] = load(from[at * arguments.a.column]);
            }
        }
    }
    uint j = 0;
    if (has(arguments, ColumnsOfB)) {
        for (; j + rows <= used; j += rows) {
            multiply_columns(x, b.at(j), count, found + j);
        }
    } else if (has(arguments, RowsOfB)) {
        for (; j + panel <= used; j += panel) {
            multiply_rows(x, b.at(j), count, found + j);
        }
    }
    for (; j < used; j++) {
        multiply_column(x, b.at(j), count, found + j);
    }
}

// The sums of a step of a column, of every `threads`-th element from `lane` on.
template <typename T, typename U>
inline void multiply_together(constant Arguments &arguments, device const T *a, Part<U> b, uint k, uint count,
                              uint lane, uint threads, thread float *found) {
    for (uint i = 0; i < rows; i++) {
        found[i] = 0.0f;
    }
    for (uint at = lane; at < count; at += threads) {
        const float value = load(b.from[at * b.along_k]);
        for (uint i = 0; i < rows; i++) {
            const ulong offset = min(i, arguments.m - 1) * arguments.a.row + (k + at) * arguments.a.column;
            found[i] = fma(load(a[offset]), value, found[i]);
        }
    }
    for (uint i = 0; threads > 1 && i < rows; i++) {
        found[i] = simd_sum(found[i]);
    }
}

template <typename T, typename U>
kernel void gemv(constant Arguments &arguments [[buffer(0)]],
                 device uchar *y [[buffer(1)]],
                 device const T *a [[buffer(2)]],
                 device const U *b [[buffer(3)]],
                 device const uchar *c [[buffer(4)]],
                 device const uchar *bias [[buffer(5)]],
                 device const uchar *scale_a [[buffer(6)]],
                 device const uchar *scale_b [[buffer(7)]],
                 uint3 group [[threadgroup_position_in_grid]],
                 uint index [[thread_index_in_threadgroup]]) {
    typedef typename Total<T>::type C;
    const uint threads = !in_turn && has(arguments, ColumnsOfB) ? 32 : 1;
    const uint column0 = in_turn ? group.x * columns : group.x * (256 / threads) + index / threads;
    if (column0 >= arguments.n) {
        return;
    }
    const uint used = min(columns, arguments.n - column0);
    const Outputs outputs = {y, c, bias, (device const float *)scale_a, (device const float *)scale_b,
                             offsets_of(arguments.batches, group.z)};
    const bool in_groups = has(arguments, InGroups);
    float found[rows * columns];
    C totals[rows * columns];
    for (uint i = 0; i < rows * columns; i++) {
        totals[i] = 0;
        found[i] = 0.0f;
    }
    uint count = 0;
    for (uint k = 0; k < arguments.k; k += count) {
        count = min(k_step, arguments.k - k);
        const uint group_of_k = k / arguments.group;
        float scales_of_rows[rows];
        float scales_of_columns[columns];
        if (in_groups) {
            count = min(count, arguments.group - k % arguments.group);
            scales_of<rows>(has(arguments, HasScaleA), outputs.scale_a, arguments.scale_a, 0, arguments.m, group_of_k,
                            scales_of_rows);
            scales_of<columns>(has(arguments, HasScaleB), outputs.scale_b, arguments.scale_b, column0, arguments.n,
                               group_of_k, scales_of_columns);
        }
        device const T *left = a + outputs.offsets.at[1];
        const Part<U> right = {b + outputs.offsets.at[2] + k * arguments.b.row + column0 * arguments.b.column,
                               arguments.b.row, arguments.b.column};
        if (in_turn) {
            multiply_alone(arguments, left, right, k, count, used, found);
        } else {
            multiply_together(arguments, left, right, k, count, index % threads, threads, found);
        }
        take<rows, columns>(in_groups, scales_of_rows, scales_of_columns, found, totals);
    }
    if (index % threads != 0) {
        return;
    }
    for (uint i = 0; i < min(rows, arguments.m); i++) {
        for (uint j = 0; j < used; j += finished_columns) {
            const uint together = min(finished_columns, used - j);
            if (arguments.y_type == I32) {
                finish_integers(arguments, outputs, i, column0 + j, together, totals + i * columns + j);
            } else {
                finish(arguments, outputs, i, column0 + j, together, totals + i * columns + j);
            }
        }
    }
}

template [[host_name("gemv_f32")]] kernel decltype(gemv<float, float>) gemv<float, float>;
template [[host_name("gemv_f16")]] kernel decltype(gemv<half, half>) gemv<half, half>;
template [[host_name("gemv_bf16")]] kernel decltype(gemv<bf16, bf16>) gemv<bf16, bf16>;
template [[host_name("gemv_i8")]] kernel decltype(gemv<char, char>) gemv<char, char>;
template [[host_name("gemv_u8")]] kernel decltype(gemv<uchar, char>) gemv<uchar, char>;
