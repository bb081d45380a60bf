/* Arithmetic on 8x8 tiles of floats, as one thread of the host does it. */
#ifndef SMTL_TILE_H
#define SMTL_TILE_H

#include "core.h"

namespace smtl {

constexpr uint32_t tile_size = 8;

typedef float tile_row __attribute__((ext_vector_type(8)));

/* Narrow floats are kept as floats between operations, and rounded where an operation ends. */
struct tile {
    tile_row rows[tile_size];
};

/* Eight neighbours in memory, at any address. */
template <class T> struct eight {
    typedef T vector __attribute__((ext_vector_type(8)));
    typedef T unaligned __attribute__((ext_vector_type(8), aligned(sizeof(T))));
};

SMTL_INLINE tile_row widen(eight<float>::vector row) { return row; }
SMTL_INLINE tile_row widen(eight<_Float16>::vector row) { return __builtin_convertvector(row, tile_row); }

/* By way of the bits: the conversions of __bf16 call library functions where there is no instruction. */
using eight_bits = eight<uint32_t>::vector;
SMTL_INLINE tile_row widen(eight<uint16_t>::vector bits) {
    return (tile_row)(__builtin_convertvector(bits, eight_bits) << 16);
}

SMTL_INLINE eight<uint16_t>::vector narrow_to_bfloat(tile_row row) {
    const eight_bits bits = (eight_bits)row;
    const eight_bits rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const eight_bits quiet_nan = (bits >> 16) | 0x40;
    return __builtin_convertvector((eight_bits)(row == row) != 0 ? rounded : quiet_nan, eight<uint16_t>::vector);
}

/* How a component type lies in memory, and what it can hold. */
template <class T> struct tile_element;
template <> struct tile_element<float> {
    using stored = float;
    static SMTL_INLINE tile_row round(tile_row row) { return row; }
    static SMTL_INLINE eight<float>::vector narrow(tile_row row) { return row; }
};
template <> struct tile_element<_Float16> {
    using stored = _Float16;
    static SMTL_INLINE eight<_Float16>::vector narrow(tile_row row) {
        return __builtin_convertvector(row, eight<_Float16>::vector);
    }
    static SMTL_INLINE tile_row round(tile_row row) { return widen(narrow(row)); }
};
template <> struct tile_element<__bf16> {
    using stored = uint16_t;
    static SMTL_INLINE eight<uint16_t>::vector narrow(tile_row row) { return narrow_to_bfloat(row); }
    static SMTL_INLINE tile_row round(tile_row row) { return widen(narrow(row)); }
};

/* One element, to and from the type that the program sees. */
template <class T> SMTL_INLINE float widen_element(T value) { return float(value); }
SMTL_INLINE float widen_element(__bf16 value) {
    return __builtin_bit_cast(float, uint32_t(__builtin_bit_cast(uint16_t, value)) << 16);
}

template <class T> SMTL_INLINE tile_row load_row(const T *from) {
    using stored = typename tile_element<T>::stored;
    return widen(typename eight<stored>::vector(*(const typename eight<stored>::unaligned *)from));
}

template <class T> SMTL_INLINE void store_row(T *to, tile_row row) {
    using stored = typename tile_element<T>::stored;
    *(typename eight<stored>::unaligned *)to = tile_element<T>::narrow(row);
}

template <class T> SMTL_INLINE tile load_tile(const T *from, uint64_t stride) {
    tile result;
    for (uint32_t r = 0; r < tile_size; ++r)
        result.rows[r] = load_row(from + r * stride);
    return result;
}

template <class T> SMTL_INLINE void store_tile(T *to, uint64_t stride, const tile &from) {
    for (uint32_t r = 0; r < tile_size; ++r)
        store_row(to + r * stride, from.rows[r]);
}

SMTL_INLINE tile transposed(const tile &m) {
    tile pairs, fours, result;
    for (uint32_t i = 0; i < tile_size; i += 2) {
        pairs.rows[i] = __builtin_shufflevector(m.rows[i], m.rows[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        pairs.rows[i + 1] = __builtin_shufflevector(m.rows[i], m.rows[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (uint32_t i = 0; i < tile_size; i += 4)
        for (uint32_t j = 0; j < 2; ++j) {
            const tile_row a = pairs.rows[i + j], b = pairs.rows[i + j + 2];
            fours.rows[i + j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            fours.rows[i + j + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (uint32_t i = 0; i < 4; ++i) {
        const tile_row a = fours.rows[i], b = fours.rows[i + 4];
        result.rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        result.rows[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
    return result;
}

/* c + a * b. The elements of `a` are broadcast from memory, which the load ports do beside the multiplications; from
 * registers they would take up a port that multiplies. Hence the empty statement, that hides from the compiler that it
 * has the rows in registers. */
SMTL_INLINE tile multiply_add(tile &a, const tile &b, const tile &c) {
#pragma clang fp contract(fast)
    asm("" : "+m"(a));
    const float *const elements = (const float *)&a;
    tile sum = c;
#pragma clang loop unroll(full)
    for (uint32_t k = 0; k < tile_size; ++k)
#pragma clang loop unroll(full)
        for (uint32_t r = 0; r < tile_size; ++r)
            sum.rows[r] += elements[r * tile_size + k] * b.rows[k];
    return sum;
}

} // namespace smtl

#endif
