// Tensors of every type: how their elements are computed with, and how kernels walk through several of them.
#ifndef METAL_BRIDGE_TENSOR_H
#define METAL_BRIDGE_TENSOR_H

#include <metal_stdlib>

using namespace metal;

// The upper half of a float. Metal's own type needs version 3.1 of the language.
struct bf16 {
    ushort bits;
};

// By its bits. Of a float that was a half clang would compare the half: one by one, where lanes run in turn.
inline bool is_nan(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// Elements of type T are computed with as `computed`: `get` is exact, `put` rounds to the nearest or wraps. Integers
// are added and multiplied as `wrapped`, in which an overflow is defined.
template <typename T> struct Element {
    typedef T computed;
    typedef T wrapped;
    static T get(T value) { return value; }
    static T put(T value) { return value; }
};

template <> struct Element<half> {
    typedef float computed;
    static float get(half value) { return float(value); }
    static half put(float value) { return half(value); }
};

template <> struct Element<bf16> {
    typedef float computed;
    static float get(bf16 value) { return as_type<float>(uint(value.bits) << 16); }
    static bf16 put(float value) {
        const uint bits = as_type<uint>(value);
        // Rounding would carry a NaN's payload into its sign.
        const uint rounded = is_nan(bits) ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
        return {ushort(rounded >> 16)};
    }
};

template <> struct Element<int> {
    typedef int computed;
    typedef uint wrapped;
    static int get(int value) { return value; }
    static int put(int value) { return value; }
};

template <> struct Element<long> {
    typedef long computed;
    typedef ulong wrapped;
    static long get(long value) { return value; }
    static long put(long value) { return value; }
};

template <> struct Element<char> {
    typedef int computed;
    static int get(char value) { return int(value); }
    static char put(int value) { return char(value); }
};

template <> struct Element<uchar> {
    typedef uint computed;
    static uint get(uchar value) { return uint(value); }
    static uchar put(uint value) { return uchar(value); }
};

// Elements of a block. A GPU keeps a block in registers; where lanes run in turn, the host asks for long ones, which
// become vector loops.
#ifndef BLOCK
#define BLOCK 8
#endif
#if BLOCK > 8
// Lanes run in turn. Unrolled, a loop over a block could not become vectors, and any loop takes longer to compile.
#define ROLLED _Pragma("clang loop unroll(disable)")
// A loop over a block of so many elements becomes vectors of up to 16. By itself clang takes halves by fours, which
// costs half the speed.
#define PRAGMA(text) _Pragma(#text)
#define BLOCK_LOOP(elements) PRAGMA(clang loop unroll(disable) vectorize_width((elements) < 16 ? (elements) : 16))
#else
#define ROLLED
#define BLOCK_LOOP(elements)
#endif

constant constexpr uint max_rank = 8;
constant constexpr uint max_tensors = 4;
constant constexpr uint max_parameters = 5;

// A walk through tensors of one shape, the result first. The innermost dimension comes first; strides are in elements.
struct Walk {
    // The bits of what the operation has besides tensors: a float, or an element.
    ulong scalar;
    // Elements along the innermost dimension that a thread takes.
    uint per_thread;
    uint rank;
    ulong shape[max_rank];
    ulong strides[max_rank][max_tensors];
    // Further numbers of the operation.
    ulong parameters[max_parameters];
};

// Whether all tensors lie without gaps along the innermost dimension.
constant bool is_dense [[function_constant(0)]];

// Where each tensor has an element.
struct TensorOffsets {
    ulong at[max_tensors];
};

// The first element of each tensor in row `row` of the innermost dimension.
inline TensorOffsets offsets_of(constant Walk &walk, uint row) {
    TensorOffsets offsets = {};
    ROLLED
    for (uint axis = 1; axis < walk.rank; axis++) {
        const uint size = uint(walk.shape[axis]);
        const uint index = row % size;
        row /= size;
        for (uint n = 0; n < max_tensors; n++) offsets.at[n] += ulong(index) * walk.strides[axis][n];
    }
    return offsets;
}

inline TensorOffsets stepped(TensorOffsets offsets, constant Walk &walk, ulong steps) {
    for (uint n = 0; n < max_tensors; n++) offsets.at[n] += is_dense ? steps : steps * walk.strides[0][n];
    return offsets;
}

// What is left to do for the values of a block when all are computed: nothing, for most operations.
template <typename Work> struct SecondStep {
    typedef typename Work::result result;
    static constant constexpr bool is_needed = false;
    static result of(thread const Work &, result value) { return value; }
};

// Inlined, a function keeps the pointers of `work` in registers: in memory each store might change them.
#define INLINE __attribute__((always_inline)) inline

constant constexpr uint short_block = 8;

// Whole blocks of a row from element `i` on; returns where the next would not be whole. All elements of a block are
// loaded before one is stored: the result may lie where an operand does, and nobody can tell a compiler that it lies
// exactly there.
template <uint block, typename Work>
INLINE ulong walk_blocks(constant Walk &walk, TensorOffsets row, ulong i, ulong end, thread const Work &work) {
    for (; i + block <= end; i += block) {
        typename Work::result values[block];
        BLOCK_LOOP(block)
        for (uint k = 0; k < block; k++) values[k] = work.value(stepped(row, walk, i + k));
        BLOCK_LOOP(block)
        for (uint k = 0; SecondStep<Work>::is_needed && k < block; k++)
            values[k] = SecondStep<Work>::of(work, values[k]);
        BLOCK_LOOP(block)
        for (uint k = 0; k < block; k++) work.store(row.at[0] + i + k, values[k]);
    }
    return i;
}

// A loop of any length as vectors, the last of which may be masked: without single steps at its end.
#define VECTOR_LOOP _Pragma("clang loop vectorize_width(16) interleave_count(1) vectorize_predicate(enable)")

// The part of a thread: x counts along the innermost dimension, y through the others. `work.value(offsets)` computes an
// element, `work.store(offset, value)` stores it.
template <typename Work> INLINE void walk_elements(constant Walk &walk, uint2 position, thread const Work &work) {
    const TensorOffsets row = offsets_of(walk, position.y);
    ulong i = ulong(position.x) * walk.per_thread;
    const ulong end = min(i + walk.per_thread, walk.shape[0]);
    if (is_dense) {
        i = walk_blocks<BLOCK>(walk, row, i, end, work);
        if (BLOCK > short_block) i = walk_blocks<short_block>(walk, row, i, end, work);
    }
    ROLLED
    for (; i < end; i++) {
        const TensorOffsets offsets = stepped(row, walk, i);
        work.store(offsets.at[0], SecondStep<Work>::of(work, work.value(offsets)));
    }
}

#endif
