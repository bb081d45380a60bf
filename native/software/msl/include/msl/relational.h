// <metal_relational>
#pragma once

#include "common.h"

namespace metal {

#define SMTL_CLASSIFY(name, expression)                                        \
    template <class T, class = enable_if_t<is_arithmetic_v<T>>>                \
    SMTL_FUNCTION bool name(T value) {                                         \
        const float x = float(value);                                          \
        return expression;                                                     \
    }                                                                          \
    template <class T, int N>                                                  \
    SMTL_FUNCTION vec<bool, N> name(vec<T, N> value) {                         \
        vec<bool, N> result;                                                   \
        for (int i = 0; i < N; ++i) result.native[i] = name(T(value.native[i])); \
        return result;                                                         \
    }
SMTL_CLASSIFY(isfinite, __builtin_isfinite(x))
SMTL_CLASSIFY(isinf, __builtin_isinf(x))
SMTL_CLASSIFY(isnan, __builtin_isnan(x))
SMTL_CLASSIFY(signbit, __builtin_signbit(x))
// Subnormality is a matter of the type itself.
template <class T, class = enable_if_t<is_floating_point_v<T>>>
SMTL_FUNCTION bool isnormal(T value) {
    constexpr float smallest = is_same_v<T, half> ? 0x1p-14f : 0x1p-126f;
    const float magnitude = __builtin_fabsf(float(value));
    return magnitude >= smallest && magnitude < __builtin_inff();
}
template <class T, int N>
SMTL_FUNCTION vec<bool, N> isnormal(vec<T, N> value) {
    vec<bool, N> result;
    for (int i = 0; i < N; ++i) result.native[i] = isnormal(T(value.native[i]));
    return result;
}
template <class T>
SMTL_FUNCTION auto isunordered(T a, T b) {
    return isnan(a) || isnan(b);
}
template <class T>
SMTL_FUNCTION auto isordered(T a, T b) {
    return !isunordered(a, b);
}

SMTL_FUNCTION bool all(bool value) { return value; }
SMTL_FUNCTION bool any(bool value) { return value; }
template <int N>
SMTL_FUNCTION bool all(vec<bool, N> value) {
    return __builtin_reduce_and(value.native) != 0;
}
template <int N>
SMTL_FUNCTION bool any(vec<bool, N> value) {
    return __builtin_reduce_or(value.native) != 0;
}

// b where the condition holds, a elsewhere.
template <class A, class B, class R = detail::met_t<true, A, B>>
SMTL_FUNCTION R select(A a, B b, bool condition) {
    return condition ? R(b) : R(a);
}
template <class T, int N>
SMTL_FUNCTION vec<T, N> select(vec<T, N> a, type_identity_t<vec<T, N>> b, vec<bool, N> condition) {
    using bits = conditional_t<sizeof(T) == 1, signed char, conditional_t<sizeof(T) == 2, short, conditional_t<sizeof(T) == 4, int, long>>>;
    using bits_n = detail::native_t<bits, N>;
    const bits_n mask = -__builtin_convertvector(condition.native, bits_n);
    const bits_n chosen = (__builtin_bit_cast(bits_n, a.native) & ~mask) | (__builtin_bit_cast(bits_n, b.native) & mask);
    return vec<T, N>(detail::from_native, __builtin_bit_cast(detail::native_t<T, N>, chosen));
}
template <class T, int N>
SMTL_FUNCTION vec<T, N> select(vec<T, N> a, type_identity_t<vec<T, N>> b, bool condition) {
    return condition ? b : a;
}
// An integer condition holds where it is not zero.
template <class T, int N, class I, class = enable_if_t<is_integral_v<I> && !is_same_v<I, bool>>>
SMTL_FUNCTION vec<T, N> select(vec<T, N> a, type_identity_t<vec<T, N>> b, vec<I, N> condition) {
    return select(a, b, condition != vec<I, N>(I(0)));
}

}  // namespace metal
