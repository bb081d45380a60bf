// <metal_integer>
#pragma once

#include "common.h"

namespace metal {
namespace smtl_detail {

#define SMTL_INTEGER_OP1(name, expression)                  \
    struct name##_op {                                      \
        static constexpr bool whole = false;                \
        template <class T> static SMTL_FUNCTION T on(T x) { \
            using U [[maybe_unused]] = make_unsigned_t<T>;  \
            return T(expression);                           \
        }                                                   \
    };
#define SMTL_INTEGER_OP2(name, expression)                       \
    struct name##_op {                                           \
        static constexpr bool whole = false;                     \
        template <class T> static SMTL_FUNCTION T on(T x, T y) { \
            using U [[maybe_unused]] = make_unsigned_t<T>;       \
            return T(expression);                                \
        }                                                        \
    };
#define SMTL_INTEGER_OP3(name, expression)                            \
    struct name##_op {                                                \
        static constexpr bool whole = false;                          \
        template <class T> static SMTL_FUNCTION T on(T x, T y, T z) { \
            using U [[maybe_unused]] = make_unsigned_t<T>;            \
            return T(expression);                                     \
        }                                                             \
    };

template <class T> constexpr int bits_of = int(sizeof(T) * 8);

// An integer type that holds any product of two T.
template <class T>
using product_t = conditional_t<(sizeof(T) < 8), conditional_t<is_signed_v<T>, long, ulong>,
                                conditional_t<is_signed_v<T>, __int128, unsigned __int128>>;

template <class T> constexpr T largest = is_signed_v<T> ? T(make_unsigned_t<T>(-1) >> 1) : T(-1);
template <class T> constexpr T smallest = is_signed_v<T> ? T(-largest<T> - 1) : T(0);

template <class T> SMTL_FUNCTION T saturated(product_t<T> value) {
    return value > product_t<T>(largest<T>) ? largest<T> : value < product_t<T>(smallest<T>) ? smallest<T> : T(value);
}
template <class T> SMTL_FUNCTION T add_saturated(T x, T y) {
    T sum;
    if (!__builtin_add_overflow(x, y, &sum)) return sum;
    return is_signed_v<T> && x < 0 ? smallest<T> : largest<T>;
}
template <class T> SMTL_FUNCTION T subtract_saturated(T x, T y) {
    T difference;
    if (!__builtin_sub_overflow(x, y, &difference)) return difference;
    return is_unsigned_v<T> || x < 0 ? smallest<T> : largest<T>;
}
template <class T> SMTL_FUNCTION T reversed(T x) {
    using U = make_unsigned_t<T>;
    if constexpr (sizeof(T) == 1) return T(__builtin_bitreverse8(U(x)));
    if constexpr (sizeof(T) == 2) return T(__builtin_bitreverse16(U(x)));
    if constexpr (sizeof(T) == 4) return T(__builtin_bitreverse32(U(x)));
    if constexpr (sizeof(T) == 8) return T(__builtin_bitreverse64(U(x)));
}
template <class T> SMTL_FUNCTION T rotated(T x, T y) {
    using U = make_unsigned_t<T>;
    const int n = int(U(y) % bits_of<T>);
    return n == 0 ? x : T(U(U(x) << n) | U(U(x) >> (bits_of<T> - n)));
}

SMTL_INTEGER_OP2(absdiff, x > y ? U(x) - U(y) : U(y) - U(x))
SMTL_INTEGER_OP2(addsat, add_saturated(x, y))
SMTL_INTEGER_OP2(subsat, subtract_saturated(x, y))
SMTL_INTEGER_OP1(clz, U(x) == 0 ? bits_of<T> : __builtin_clzl(ulong(U(x))) - (64 - bits_of<T>))
SMTL_INTEGER_OP1(ctz, U(x) == 0 ? bits_of<T> : __builtin_ctzl(ulong(U(x))))
SMTL_INTEGER_OP1(popcount, __builtin_popcountl(ulong(U(x))))
SMTL_INTEGER_OP1(reverse_bits, reversed(x))
SMTL_INTEGER_OP2(hadd, (x & y) + ((x ^ y) >> 1))
SMTL_INTEGER_OP2(rhadd, (x | y) - ((x ^ y) >> 1))
SMTL_INTEGER_OP2(mulhi, product_t<T>(product_t<T>(x) * product_t<T>(y)) >> bits_of<T>)
// Products and sums wrap, which those of signed integers do not in C++.
SMTL_INTEGER_OP2(mul24, U(x << 8 >> 8) * U(y << 8 >> 8))
SMTL_INTEGER_OP2(rotate, rotated(x, y))
SMTL_INTEGER_OP3(mad24, U(x << 8 >> 8) * U(y << 8 >> 8) + U(z))
SMTL_INTEGER_OP3(madhi, U(product_t<T>(product_t<T>(x) * product_t<T>(y)) >> bits_of<T>) + U(z))
SMTL_INTEGER_OP3(madsat, saturated<T>(product_t<T>(x) * product_t<T>(y) + product_t<T>(z)))

}  // namespace smtl_detail

SMTL_INTEGER_FUNCTION1(clz)
SMTL_INTEGER_FUNCTION1(ctz)
SMTL_INTEGER_FUNCTION1(popcount)
SMTL_INTEGER_FUNCTION1(reverse_bits)
SMTL_INTEGER_FUNCTION2(addsat)
SMTL_INTEGER_FUNCTION2(subsat)
SMTL_INTEGER_FUNCTION2(hadd)
SMTL_INTEGER_FUNCTION2(rhadd)
SMTL_INTEGER_FUNCTION2(mulhi)
SMTL_INTEGER_FUNCTION2(mul24)
SMTL_INTEGER_FUNCTION2(rotate)
SMTL_INTEGER_FUNCTION3(mad24)
SMTL_INTEGER_FUNCTION3(madhi)
SMTL_INTEGER_FUNCTION3(madsat)

// The unsigned distance.
template <class T, class = enable_if_t<smtl_is_integral_v<T>>>
SMTL_FUNCTION make_unsigned_t<T> absdiff(T a, smtl_type_identity_t<T> b) {
    return make_unsigned_t<T>(smtl_detail::absdiff_op::on(a, b));
}
template <class T, int N, class = enable_if_t<smtl_is_integral_v<T>>>
SMTL_FUNCTION vec<make_unsigned_t<T>, N> absdiff(vec<T, N> a, vec<T, N> b) {
    return vec<make_unsigned_t<T>, N>(smtl_detail::apply<smtl_detail::absdiff_op>(a, b));
}

// Fields of bits: those beyond the width of the type are none.
template <class T, class = enable_if_t<smtl_detail::is_integer_v<T>>>
SMTL_FUNCTION T extract_bits(T x, uint offset, uint count) {
    if constexpr (is_vector_v<T>) {
        T result;
        for (int i = 0; i < T::size; ++i) result[i] = extract_bits(make_scalar_t<T>(x[i]), offset, count);
        return result;
    } else {
        using U = make_unsigned_t<T>;
        const uint width = sizeof(T) * 8;
        if (count == 0 || offset >= width) return T(0);
        if (count > width - offset) count = width - offset;
        // Up to the top and back down: arithmetically, so that a signed field keeps its sign.
        return T(T(U(U(x) << (width - offset - count))) >> (width - count));
    }
}
template <class T, class = enable_if_t<smtl_detail::is_integer_v<T>>>
SMTL_FUNCTION T insert_bits(T base, T insert, uint offset, uint count) {
    if constexpr (is_vector_v<T>) {
        T result;
        for (int i = 0; i < T::size; ++i)
            result[i] = insert_bits(make_scalar_t<T>(base[i]), make_scalar_t<T>(insert[i]), offset, count);
        return result;
    } else {
        using U = make_unsigned_t<T>;
        const uint width = sizeof(T) * 8;
        if (count == 0 || offset >= width) return base;
        if (count > width - offset) count = width - offset;
        const U mask = U(U(U(-1) >> (width - count)) << offset);
        return T((U(base) & U(~mask)) | (U(U(insert) << offset) & mask));
    }
}
SMTL_PACKED_ARGUMENTS(absdiff)
SMTL_PACKED_ARGUMENTS(extract_bits)
SMTL_PACKED_ARGUMENTS(insert_bits)

}  // namespace metal
