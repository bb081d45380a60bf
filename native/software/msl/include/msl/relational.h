// <metal_relational>
#pragma once

#include "common.h"

namespace metal {

// Those of floats and halves are not templates, so that a template of the source gives way to them.
#define SMTL_CLASSIFY(name, expression)                                                                             \
    SMTL_FUNCTION bool name(float x) { return expression; }                                                         \
    SMTL_FUNCTION bool name(half value) { return name(float(value)); }                                              \
    template <class T, class... None, class = enable_if_t<is_arithmetic_v<T> && smtl_detail::is_helper_v<None...>>> \
    SMTL_FUNCTION bool name(T value, None...) {                                                                     \
        return name(float(value));                                                                                  \
    }                                                                                                               \
    template <class T, int N> SMTL_FUNCTION vec<bool, N> name(vec<T, N> value) {                                    \
        vec<bool, N> result;                                                                                        \
        for (int i = 0; i < N; ++i) result.native[i] = name(T(value.native[i]));                                    \
        return result;                                                                                              \
    }                                                                                                               \
    SMTL_PACKED_ARGUMENTS(name)
SMTL_CLASSIFY(isfinite, __builtin_isfinite(x))
SMTL_CLASSIFY(isinf, __builtin_isinf(x))
SMTL_CLASSIFY(isnan, __builtin_isnan(x))
SMTL_CLASSIFY(signbit, __builtin_signbit(x))
// Subnormality is a matter of the type itself.
namespace smtl_detail {
SMTL_FUNCTION bool is_normal(float value, float smallest) {
    const float magnitude = __builtin_fabsf(value);
    return magnitude >= smallest && magnitude < __builtin_inff();
}
}  // namespace smtl_detail
SMTL_FUNCTION bool isnormal(float value) { return smtl_detail::is_normal(value, 0x1p-126f); }
SMTL_FUNCTION bool isnormal(half value) { return smtl_detail::is_normal(float(value), 0x1p-14f); }
template <class T, class = enable_if_t<is_same_v<T, bfloat>>> SMTL_FUNCTION bool isnormal(T value) {
    return isnormal(float(value));
}
template <class T, int N> SMTL_FUNCTION vec<bool, N> isnormal(vec<T, N> value) {
    vec<bool, N> result;
    for (int i = 0; i < N; ++i) result.native[i] = isnormal(T(value.native[i]));
    return result;
}
SMTL_PACKED_ARGUMENTS(isnormal)
template <class T> SMTL_FUNCTION auto isunordered(T a, T b) { return isnan(a) || isnan(b); }
template <class T> SMTL_FUNCTION auto isordered(T a, T b) { return !isunordered(a, b); }
#define SMTL_ORDERED(T)                                                       \
    SMTL_FUNCTION bool isunordered(T a, T b) { return isnan(a) || isnan(b); } \
    SMTL_FUNCTION bool isordered(T a, T b) { return !isunordered(a, b); }
SMTL_ORDERED(float)
SMTL_ORDERED(half)
#undef SMTL_ORDERED

SMTL_FUNCTION bool all(bool value) { return value; }
SMTL_FUNCTION bool any(bool value) { return value; }
template <int N> SMTL_FUNCTION bool all(vec<bool, N> value) { return __builtin_reduce_and(value.native) != 0; }
template <int N> SMTL_FUNCTION bool any(vec<bool, N> value) { return __builtin_reduce_or(value.native) != 0; }
SMTL_PACKED_ARGUMENTS(isunordered)
SMTL_PACKED_ARGUMENTS(isordered)
SMTL_PACKED_ARGUMENTS(all)
SMTL_PACKED_ARGUMENTS(any)

// b where the condition holds, a elsewhere. Functions of each type, as Metal has them, so that templates and functions
// of the user's own are chosen, or not, as there. Those of bfloat are templates: a source that brings its own is
// preferred.
namespace smtl_detail {
template <class T, int N> SMTL_FUNCTION vec<T, N> select_components(vec<T, N> a, vec<T, N> b, vec<bool, N> condition) {
    using bits = conditional_t<sizeof(T) == 1, signed char,
                               conditional_t<sizeof(T) == 2, short, conditional_t<sizeof(T) == 4, int, long>>>;
    using bits_n = native_t<bits, N>;
    const bits_n mask = -__builtin_convertvector(condition.native, bits_n);
    const bits_n chosen =
        (__builtin_bit_cast(bits_n, a.native) & ~mask) | (__builtin_bit_cast(bits_n, b.native) & mask);
    return vec<T, N>(from_native, __builtin_bit_cast(native_t<T, N>, chosen));
}
}  // namespace smtl_detail
#define SMTL_SELECT(T)                                                             \
    SMTL_FUNCTION T select(T a, T b, bool condition) { return condition ? b : a; } \
    SMTL_FUNCTION T##2 select(T##2 a, T##2 b, bool2 condition) {                   \
        return smtl_detail::select_components(a, b, condition);                    \
    }                                                                              \
    SMTL_FUNCTION T##3 select(T##3 a, T##3 b, bool3 condition) {                   \
        return smtl_detail::select_components(a, b, condition);                    \
    }                                                                              \
    SMTL_FUNCTION T##4 select(T##4 a, T##4 b, bool4 condition) {                   \
        return smtl_detail::select_components(a, b, condition);                    \
    }
SMTL_SELECT(bool)
SMTL_SELECT(char)
SMTL_SELECT(uchar)
SMTL_SELECT(short)
SMTL_SELECT(ushort)
SMTL_SELECT(int)
SMTL_SELECT(uint)
SMTL_SELECT(long)
SMTL_SELECT(ulong)
SMTL_SELECT(half)
SMTL_SELECT(float)
template <int N>
SMTL_FUNCTION vec<bfloat, N> select(vec<bfloat, N> a, smtl_type_identity_t<vec<bfloat, N>> b,
                                    smtl_type_identity_t<vec<bool, N>> condition) {
    return smtl_detail::select_components(a, b, condition);
}
// Scalars of several types.
template <class A, class B, class... None, class R = smtl_detail::met_t<true, A, B>,
          class = enable_if_t<(!is_same_v<A, B> || is_same_v<A, bfloat>) && smtl_detail::is_helper_v<None...>>>
SMTL_FUNCTION R select(A a, B b, bool condition, None...) {
    return condition ? R(b) : R(a);
}
// An integer condition holds where it is not zero.
template <class T, int N, class I, class = enable_if_t<smtl_is_integral_v<I> && !is_same_v<I, bool>>>
SMTL_FUNCTION vec<T, N> select(vec<T, N> a, smtl_type_identity_t<vec<T, N>> b, vec<I, N> condition) {
    return select(a, b, condition != vec<I, N>(I(0)));
}
SMTL_PACKED_ARGUMENTS(select)

}  // namespace metal
