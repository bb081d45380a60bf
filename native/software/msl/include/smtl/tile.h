/* Arithmetic on 8x8 tiles of floats, as one thread of the host does it. */
#ifndef SMTL_TILE_H
#define SMTL_TILE_H

#include "touch.h"

namespace smtl {

constexpr uint32_t tile_size = 8;

typedef float tile_row __attribute__((ext_vector_type(8)));

/* Two rows, their elements interleaved. A product then needs no shuffles in registers but one for each row of the
 * right factor: two elements of a column of the left one lie side by side, to be broadcast by a load. */
typedef float row_pair __attribute__((ext_vector_type(16)));

/* Narrow floats are kept as floats between operations, and rounded where an operation ends. */
struct tile {
    row_pair pairs[tile_size / 2];
};

/* Eight rows, one after the other: on the way between a tile and memory. */
struct tile_rows {
    tile_row rows[tile_size];
};

/* Where an element is among the floats of a tile; the next of its row comes two floats later. */
SMTL_INLINE uint32_t tile_index(uint32_t row, uint32_t column) { return row / 2 * 16 + column * 2 + row % 2; }

/* Eight neighbours in memory, at any address. */
template <class T> struct eight {
    typedef T vector __attribute__((ext_vector_type(8)));
    typedef T unaligned __attribute__((ext_vector_type(8), aligned(sizeof(T))));
};

SMTL_INLINE tile_row widen(eight<float>::vector row) { return row; }
SMTL_INLINE tile_row widen(eight<_Float16>::vector row) { return __builtin_convertvector(row, tile_row); }

/* By way of the bits: the conversions of __bf16 call library functions if there is no instruction. */
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

SMTL_INLINE row_pair join(tile_row low, tile_row high) {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* How a component type lies in memory, and what it can hold. */
template <class T> struct tile_element;
template <> struct tile_element<float> {
    using stored = float;
    static SMTL_INLINE row_pair round(row_pair pair) { return pair; }
    static SMTL_INLINE eight<float>::vector narrow(tile_row row) { return row; }
};
template <> struct tile_element<_Float16> {
    using stored = _Float16;
    static SMTL_INLINE eight<_Float16>::vector narrow(tile_row row) {
        return __builtin_convertvector(row, eight<_Float16>::vector);
    }
    static SMTL_INLINE row_pair round(row_pair pair) { return join(widen(narrow(pair.lo)), widen(narrow(pair.hi))); }
};
template <> struct tile_element<__bf16> {
    using stored = uint16_t;
    static SMTL_INLINE eight<uint16_t>::vector narrow(tile_row row) { return narrow_to_bfloat(row); }
    static SMTL_INLINE row_pair round(row_pair pair) { return join(widen(narrow(pair.lo)), widen(narrow(pair.hi))); }
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

/* Two neighbours of a row: what transposing a tile moves as one, since its pairs of rows are columns' neighbours then.
 */
typedef double two_floats;
typedef double eight_twos __attribute__((ext_vector_type(8)));

/* Rows of memory become columns of the tile: pair i has the i-th two floats of every row. */
SMTL_INLINE void pack_transposed(tile &to, const tile_rows &m) {
    eight_twos fours[tile_size / 2]; /* of rows 0 to 3 and 4 to 7: twos 0 and 1, twos 2 and 3 */
    for (uint32_t half = 0; half < 2; ++half) {
        const tile_row *const rows = m.rows + half * 4;
        const eight_twos a = (eight_twos)join(rows[0], rows[1]), b = (eight_twos)join(rows[2], rows[3]);
        fours[half * 2] = __builtin_shufflevector(a, b, 0, 4, 8, 12, 1, 5, 9, 13);
        fours[half * 2 + 1] = __builtin_shufflevector(a, b, 2, 6, 10, 14, 3, 7, 11, 15);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        const eight_twos low = fours[i], high = fours[i + 2];
        to.pairs[2 * i] = (row_pair)__builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11);
        to.pairs[2 * i + 1] = (row_pair)__builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

SMTL_INLINE tile_rows unpack_transposed(const tile &from) {
    tile_rows m;
    for (uint32_t half = 0; half < 2; ++half) {
        eight_twos fours[2]; /* of columns 0 to 3 or 4 to 7: twos 0 and 1, twos 2 and 3 */
        for (uint32_t i = 0; i < 2; ++i) {
            const eight_twos a = (eight_twos)from.pairs[2 * i], b = (eight_twos)from.pairs[2 * i + 1];
            fours[i] = half == 0 ? __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
                                 : __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
        }
        tile_row *const rows = m.rows + half * 4;
        rows[0] = (tile_row)__builtin_shufflevector(fours[0], fours[1], 0, 1, 8, 9);
        rows[1] = (tile_row)__builtin_shufflevector(fours[0], fours[1], 2, 3, 10, 11);
        rows[2] = (tile_row)__builtin_shufflevector(fours[0], fours[1], 4, 5, 12, 13);
        rows[3] = (tile_row)__builtin_shufflevector(fours[0], fours[1], 6, 7, 14, 15);
    }
    return m;
}

/* The functions below are the bulk of a matrix kernel's work and are called, not inlined: copies of them would not fit
 * into the processor's cache of decoded instructions. */
#define SMTL_TILE_FUNCTION static SMTL_UNINSTRUMENTED __attribute__((noinline, unused))

/* Registers of 64 bytes if there are such: compilers shy away from them otherwise. */
#if defined(__AVX512F__)
#define SMTL_WIDEST_REGISTERS __attribute__((min_vector_width(512)))
#else
#define SMTL_WIDEST_REGISTERS
#endif

template <class T>
SMTL_WIDEST_REGISTERS SMTL_TILE_FUNCTION void load_tile(tile &to, const T *from, uint64_t stride, bool transpose) {
    tile_rows m;
    for (uint32_t r = 0; r < tile_size; ++r) m.rows[r] = load_row(from + r * stride);
    if (transpose) {
        pack_transposed(to, m);
        return;
    }
    for (uint32_t i = 0; i < tile_size / 2; ++i)
        to.pairs[i] = __builtin_shufflevector(m.rows[2 * i], m.rows[2 * i + 1], 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13,
                                              6, 14, 7, 15);
}

template <class T>
SMTL_WIDEST_REGISTERS SMTL_TILE_FUNCTION void store_tile(const tile &from, T *to, uint64_t stride, bool transpose) {
    tile_rows m;
    if (transpose)
        m = unpack_transposed(from);
    else
        for (uint32_t i = 0; i < tile_size / 2; ++i) {
            m.rows[2 * i] = from.pairs[i].even;
            m.rows[2 * i + 1] = from.pairs[i].odd;
        }
    for (uint32_t r = 0; r < tile_size; ++r) store_row(to + r * stride, m.rows[r]);
}

template <class T> SMTL_TILE_FUNCTION void round_tile(tile &m) {
    for (row_pair &pair : m.pairs) pair = tile_element<T>::round(pair);
}

/* d = a * b + c; any of them may be the same. */
SMTL_WIDEST_REGISTERS SMTL_TILE_FUNCTION void multiply_add(tile &d, const tile &a, const tile &b, const tile &c) {
#pragma clang fp contract(fast)
    const two_floats *const columns = (const two_floats *)&a;
    row_pair sum[tile_size / 2];
    for (uint32_t i = 0; i < tile_size / 2; ++i) sum[i] = c.pairs[i];
#pragma clang loop unroll(full)
    for (uint32_t k = 0; k < tile_size; k += 2) {
        const row_pair rows = b.pairs[k / 2];
        const row_pair first =
            __builtin_shufflevector(rows, rows, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14);
        const row_pair second =
            __builtin_shufflevector(rows, rows, 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15);
#pragma clang loop unroll(full)
        for (uint32_t i = 0; i < tile_size / 2; ++i) sum[i] += (row_pair)eight_twos(columns[i * tile_size + k]) * first;
#pragma clang loop unroll(full)
        for (uint32_t i = 0; i < tile_size / 2; ++i)
            sum[i] += (row_pair)eight_twos(columns[i * tile_size + k + 1]) * second;
    }
    for (uint32_t i = 0; i < tile_size / 2; ++i) d.pairs[i] = sum[i];
}

}  // namespace smtl

#endif
