// The product of matrices: its arguments, and how y is made of the sums.
#ifndef METAL_BRIDGE_GEMM_H
#define METAL_BRIDGE_GEMM_H

#include "functions.h"
#include "tensor.h"

// In the order of `DataType` in src/ops/tensor/data_type.rs, and of `check` in src/ops/tensor/matmul_options.rs.
enum DataType : uint {
    F32,
    F16,
    BF16,
    I8,
    U8,
    I32
};
enum Activation : uint {
    None,
    Relu,
    Gelu,
    GeluTanh,
    Silu,
    Sigmoid,
    Tanh
};

// The most elements of y that are finished together.
constant constexpr uint finished_columns = BLOCK > short_block ? 64 : 4;

struct Strides {
    ulong row;
    ulong column;
};

struct Arguments {
    // The batches of y, A, B and C: the dimensions of the walk from the second on.
    Walk batches;
    Strides y;
    Strides a;
    Strides b;
    Strides c;
    // By row, or by column, and by group.
    Strides scale_a;
    Strides scale_b;
    Strides bias;
    uint m;
    uint n;
    uint k;
    uint group;
    float alpha;
    float beta;
    // Bits, as in `Flags`.
    uint flags;
    // The type of y, C and the bias.
    uint y_type;
    uint activation;
    uint unused;
};

// There is C, a bias, a scale of A, a scale of B; each group along k has scales of its own; neighbours along k lie side
// by side in A, neighbours along n in B, neighbours along k in B.
enum Flags : uint {
    HasC = 1,
    HasBias = 2,
    HasScaleA = 4,
    HasScaleB = 8,
    InGroups = 16,
    RowsOfA = 32,
    RowsOfB = 64,
    ColumnsOfB = 128
};

inline bool has(constant Arguments &arguments, uint flag) { return (arguments.flags & flag) != 0; }

// What is added up over the steps: floats; integers, or the bits of floats if each group has scales.
template <typename T> struct Total {
    typedef float type;
};
template <> struct Total<char> {
    typedef int type;
};
template <> struct Total<uchar> {
    typedef int type;
};

template <typename T> inline float load(T x) { return float(Element<T>::get(x)); }

// Adds up what a step has found in R rows of N columns: of floats as it is, and of integers, too, unless each group has
// scales.
template <uint R, uint N>
inline void take(bool, thread const float *, thread const float *, thread const float *found, thread float *totals) {
    for (uint at = 0; at < R * N; at++) totals[at] += found[at];
}

template <uint R, uint N>
inline void take(bool in_groups, thread const float *scale_a, thread const float *scale_b, thread const float *found,
                 thread int *totals) {
    if (!in_groups) {
        for (uint at = 0; at < R * N; at++) totals[at] = int(uint(totals[at]) + uint(int(found[at])));
        return;
    }
    for (uint i = 0; i < R; i++) {
        for (uint j = 0; j < N; j++) {
            const uint at = i * N + j;
            totals[at] = as_type<int>(as_type<float>(totals[at]) + scale_a[i] * scale_b[j] * found[at]);
        }
    }
}

// The scales of N rows or columns from `first` on in a group; past the last one it comes again.
template <uint N>
inline void scales_of(bool is_given, device const float *scales, Strides strides, uint first, uint end, uint group,
                      thread float *to) {
    for (uint i = 0; i < N; i++)
        to[i] = is_given ? scales[min(first + i, end - 1) * strides.row + group * strides.column] : 1.0f;
}

inline float number(bool, float total) { return total; }
inline float number(bool in_groups, int total) { return in_groups ? as_type<float>(total) : float(total); }

inline void activate(uint activation, thread float *values, uint count) {
    switch (activation) {
    case Relu:
        for (uint j = 0; j < count; j++) values[j] = values[j] < 0.0f ? 0.0f : values[j];
        break;
    case Gelu:
        for (uint j = 0; j < count; j++) values[j] = gelu_of(values[j]);
        break;
    case GeluTanh:
        for (uint j = 0; j < count; j++) values[j] = gelu_tanh_of(values[j]);
        break;
    case Silu:
        for (uint j = 0; j < count; j++) values[j] *= sigmoid_of(values[j]);
        break;
    case Sigmoid:
        for (uint j = 0; j < count; j++) values[j] = sigmoid_of(values[j]);
        break;
    case Tanh:
        for (uint j = 0; j < count; j++) values[j] = precise::tanh(values[j]);
        break;
    default: break;
    }
}

// The operands of the last part.
struct Outputs {
    device uchar *y;
    device const uchar *c;
    device const uchar *bias;
    device const float *scale_a;
    device const float *scale_b;
    TensorOffsets offsets;
};

inline ulong y_offset(constant Arguments &arguments, Outputs outputs, uint row, uint column) {
    return outputs.offsets.at[0] + row * arguments.y.row + column * arguments.y.column;
}

inline ulong c_offset(constant Arguments &arguments, Outputs outputs, uint row, uint column) {
    return outputs.offsets.at[3] + row * arguments.c.row + column * arguments.c.column;
}

template <typename Y>
inline void add_of(device const Y *from, ulong along, float factor, thread float *values, uint count) {
    if (along == 1)
        for (uint j = 0; j < count; j++) values[j] = fma(factor, load(from[j]), values[j]);
    else
        for (uint j = 0; j < count; j++) values[j] = fma(factor, load(from[j * along]), values[j]);
}

// Adds `factor` times the elements from `offset` on, which are `along` elements apart.
inline void add(uint type, device const uchar *from, ulong offset, ulong along, float factor, thread float *values,
                uint count) {
    switch (type) {
    case F32: add_of((device const float *)from + offset, along, factor, values, count); break;
    case F16: add_of((device const half *)from + offset, along, factor, values, count); break;
    default: add_of((device const bf16 *)from + offset, along, factor, values, count);
    }
}

template <typename Y> inline void store_of(device Y *y, ulong along, thread const float *values, uint count) {
    if (along == 1)
        for (uint j = 0; j < count; j++) y[j] = Element<Y>::put(values[j]);
    else
        for (uint j = 0; j < count; j++) y[j * along] = Element<Y>::put(values[j]);
}

// `count` elements of a row of y, `finished_columns` at most, from the totals. All of C is read before any of y is
// written: they may be the same.
template <typename C>
inline void finish(constant Arguments &arguments, Outputs outputs, uint row, uint column, uint count,
                   thread const C *totals) {
    float values[finished_columns];
    const bool in_groups = has(arguments, InGroups);
    const bool scales_a = !in_groups && has(arguments, HasScaleA);
    const float factor = arguments.alpha * (scales_a ? outputs.scale_a[row * arguments.scale_a.row] : 1.0f);
    for (uint j = 0; j < count; j++) values[j] = number(in_groups, totals[j]) * factor;
    if (!in_groups && has(arguments, HasScaleB))
        for (uint j = 0; j < count; j++) values[j] *= outputs.scale_b[(column + j) * arguments.scale_b.row];
    const uint type = arguments.y_type;
    if (has(arguments, HasC)) {
        const ulong offset = c_offset(arguments, outputs, row, column);
        add(type, outputs.c, offset, arguments.c.column, arguments.beta, values, count);
    }
    if (has(arguments, HasBias)) {
        const ulong offset = row * arguments.bias.row + column * arguments.bias.column;
        add(type, outputs.bias, offset, arguments.bias.column, 1.0f, values, count);
    }
    activate(arguments.activation, values, count);
    const ulong offset = y_offset(arguments, outputs, row, column);
    switch (type) {
    case F32: store_of((device float *)outputs.y + offset, arguments.y.column, values, count); break;
    case F16: store_of((device half *)outputs.y + offset, arguments.y.column, values, count); break;
    default: store_of((device bf16 *)outputs.y + offset, arguments.y.column, values, count);
    }
}

// The same for integers, which wrap.
template <typename C>
inline void finish_integers(constant Arguments &arguments, Outputs outputs, uint row, uint column, uint count,
                            thread const C *totals) {
    device const int *c = (device const int *)outputs.c + c_offset(arguments, outputs, row, column);
    device const int *bias = (device const int *)outputs.bias;
    device int *y = (device int *)outputs.y + y_offset(arguments, outputs, row, column);
    for (uint j = 0; j < count; j++) {
        uint value = uint(totals[j]);
        value += has(arguments, HasC) ? uint(c[j * arguments.c.column]) : 0;
        const ulong offset = row * arguments.bias.row + (column + j) * arguments.bias.column;
        value += has(arguments, HasBias) ? uint(bias[offset]) : 0;
        y[j * arguments.y.column] = int(value);
    }
}

#endif
