// How a function of scalars becomes the overload set that Metal has: halves and bfloats by way of float, vectors
// component by component, scalars of mixed types in their common type.
#pragma once

#include "packed.h"

namespace metal {
namespace smtl_detail {

// True of scalars and vectors that are not packed.
template <class T> constexpr bool is_integer_v = smtl_is_integral_v<make_scalar_t<T>>;
template <class V> constexpr bool is_integer_v<smtl_packed_of<V>> = false;
template <class T> constexpr bool is_bfloat_v = is_same_v<make_scalar_t<T>, bfloat>;
template <class V> constexpr bool is_bfloat_v<smtl_packed_of<V>> = false;

// What arithmetic on a component is done in.
template <class T> using computed_t = conditional_t<is_same_v<T, half> || is_same_v<T, bfloat>, float, T>;

// Calls `Op::on` on scalars, or on whole vectors of clang's if it says `whole`.
template <class Op, class T, class... Same> SMTL_FUNCTION T apply(T a, Same... others) {
    using S = make_scalar_t<T>;
    if constexpr (!is_same_v<S, computed_t<S>>) {
        if constexpr (is_vector_v<T>) {
            using V = vec<computed_t<S>, T::size>;
            return T(apply<Op>(V(a), V(others)...));
        } else {
            return T(Op::on(computed_t<S>(a), computed_t<S>(others)...));
        }
    } else if constexpr (!is_vector_v<T>) {
        return T(Op::on(a, others...));
    } else if constexpr (Op::whole) {
        return T(from_native, Op::on(a.native, others.native...));
    } else {
        T result;
#pragma clang loop unroll(full)
        for (int i = 0; i < T::size; ++i) result.native[i] = S(Op::on(S(a.native[i]), S(others.native[i])...));
        return result;
    }
}

// The type that scalars of several types meet in; integers alone meet in float if a function has no integer form.
template <bool Scalars, bool Float, class... T> struct met {};
template <class... T> struct met<true, true, T...> : smtl_type_identity<float> {};
template <class... T> struct met<true, false, T...> : common_type<T...> {};
template <bool Integers, class... T>
using met_t = typename met<(is_arithmetic_v<T> && ...), !Integers && (smtl_is_integral_v<T> && ...), T...>::type;
template <class A, class... Others> constexpr bool all_same_v = (is_same_v<A, Others> && ...);
template <class A, class... Others> constexpr bool needs_meeting_v = !all_same_v<A, Others...> || smtl_is_integral_v<A>;
// Behind the parameters of what converts to that type, for a pack of types that is empty: C++ prefers a template
// without a pack, so that a template of the source for values of any types is taken, as it is where the library has no
// such helper.
template <class... None> constexpr bool is_helper_v = sizeof...(None) == 0;

}  // namespace smtl_detail

// One name in the namespaces that choose a precision, which all are the precise one here.
#define SMTL_IN_NAMESPACES(name) \
    namespace fast {             \
    using metal::name;           \
    }                            \
    namespace precise {          \
    using metal::name;           \
    }

// The same of a function of vectors, which takes packed ones too.
#define SMTL_VECTOR_FUNCTION(name) SMTL_PACKED_ARGUMENTS(name) SMTL_IN_NAMESPACES(name)

#define SMTL_FLOAT_TYPES(M, name) \
    M(float, name)                \
    M(float2, name) M(float3, name) M(float4, name) M(half, name) M(half2, name) M(half3, name) M(half4, name)

#define SMTL_EACH_SIZE(M, T, name) M(T, name) M(T##2, name) M(T##3, name) M(T##4, name)
#define SMTL_INTEGER_TYPES(M, name) \
    SMTL_EACH_SIZE(M, char, name)   \
    SMTL_EACH_SIZE(M, uchar, name)  \
    SMTL_EACH_SIZE(M, short, name)  \
    SMTL_EACH_SIZE(M, ushort, name) \
    SMTL_EACH_SIZE(M, int, name)    \
    SMTL_EACH_SIZE(M, uint, name) SMTL_EACH_SIZE(M, long, name) SMTL_EACH_SIZE(M, ulong, name)

#define SMTL_UNARY(T, name) \
    SMTL_FUNCTION T name(T a) { return smtl_detail::apply<smtl_detail::name##_op>(a); }
#define SMTL_BINARY(T, name) \
    SMTL_FUNCTION T name(T a, T b) { return smtl_detail::apply<smtl_detail::name##_op>(a, b); }
#define SMTL_TERNARY(T, name) \
    SMTL_FUNCTION T name(T a, T b, T c) { return smtl_detail::apply<smtl_detail::name##_op>(a, b, c); }

// Functions from operations that know in which type their results are kept.
#define SMTL_UNARY_OF(T, name) \
    SMTL_FUNCTION T name(T a) { return smtl_detail::apply<smtl_detail::name##_of<make_scalar_t<T>>>(a); }
#define SMTL_BINARY_OF(T, name) \
    SMTL_FUNCTION T name(T a, T b) { return smtl_detail::apply<smtl_detail::name##_of<make_scalar_t<T>>>(a, b); }
#define SMTL_TERNARY_OF(T, name)                                                      \
    SMTL_FUNCTION T name(T a, T b, T c) {                                             \
        return smtl_detail::apply<smtl_detail::name##_of<make_scalar_t<T>>>(a, b, c); \
    }

// Functions of one, two and three floating-point values. Those of bfloat are templates, so that a source that brings
// its own is preferred.
#define SMTL_FLOAT_FUNCTION1_BY(M, name)                                                                               \
    SMTL_FLOAT_TYPES(M, name)                                                                                          \
    template <class T, class = enable_if_t<smtl_detail::is_bfloat_v<T>>>                                               \
    M(T, name)                                                                                                         \
    template <class T, class... None, class = enable_if_t<smtl_is_integral_v<T> && smtl_detail::is_helper_v<None...>>> \
    SMTL_FUNCTION float name(T a, None...) {                                                                           \
        return name(float(a));                                                                                         \
    }                                                                                                                  \
    SMTL_VECTOR_FUNCTION(name)
#define SMTL_FLOAT_FUNCTION1(name) SMTL_FLOAT_FUNCTION1_BY(SMTL_UNARY, name)

#define SMTL_FLOAT_FUNCTION2_BY(M, name)                                                                    \
    SMTL_FLOAT_TYPES(M, name)                                                                               \
    template <class T, class = enable_if_t<smtl_detail::is_bfloat_v<T>>>                                    \
    M(T, name)                                                                                              \
    template <class A, class B, class... None, class R = smtl_detail::met_t<false, A, B>,                   \
              class = enable_if_t<smtl_detail::needs_meeting_v<A, B> && smtl_detail::is_helper_v<None...>>> \
    SMTL_FUNCTION R name(A a, B b, None...) {                                                               \
        return name(R(a), R(b));                                                                            \
    }                                                                                                       \
    SMTL_VECTOR_FUNCTION(name)
#define SMTL_FLOAT_FUNCTION2(name) SMTL_FLOAT_FUNCTION2_BY(SMTL_BINARY, name)

#define SMTL_FLOAT_FUNCTION3_BY(M, name)                                                                       \
    SMTL_FLOAT_TYPES(M, name)                                                                                  \
    template <class T, class = enable_if_t<smtl_detail::is_bfloat_v<T>>>                                       \
    M(T, name)                                                                                                 \
    template <class A, class B, class C, class... None, class R = smtl_detail::met_t<false, A, B, C>,          \
              class = enable_if_t<smtl_detail::needs_meeting_v<A, B, C> && smtl_detail::is_helper_v<None...>>> \
    SMTL_FUNCTION R name(A a, B b, C c, None...) {                                                             \
        return name(R(a), R(b), R(c));                                                                         \
    }                                                                                                          \
    SMTL_VECTOR_FUNCTION(name)
#define SMTL_FLOAT_FUNCTION3(name) SMTL_FLOAT_FUNCTION3_BY(SMTL_TERNARY, name)

// Functions of integers and vectors of them.
#define SMTL_INTEGER_FUNCTION1(name)                                                                  \
    template <class T, class = enable_if_t<smtl_detail::is_integer_v<T>>> SMTL_FUNCTION T name(T a) { \
        return smtl_detail::apply<smtl_detail::name##_op>(a);                                         \
    }                                                                                                 \
    SMTL_PACKED_ARGUMENTS(name)
#define SMTL_INTEGER_FUNCTION2(name)                                      \
    template <class T, class = enable_if_t<smtl_detail::is_integer_v<T>>> \
    SMTL_FUNCTION T name(T a, smtl_type_identity_t<T> b) {                \
        return smtl_detail::apply<smtl_detail::name##_op>(a, b);          \
    }                                                                     \
    SMTL_PACKED_ARGUMENTS(name)
#define SMTL_INTEGER_FUNCTION3(name)                                                  \
    template <class T, class = enable_if_t<smtl_detail::is_integer_v<T>>>             \
    SMTL_FUNCTION T name(T a, smtl_type_identity_t<T> b, smtl_type_identity_t<T> c) { \
        return smtl_detail::apply<smtl_detail::name##_op>(a, b, c);                   \
    }                                                                                 \
    SMTL_PACKED_ARGUMENTS(name)

// Functions that floating-point values and integers have: scalars of mixed types, integers included, meet in one type.
// Those of one type are not templates, so that clang prefers them to a template of the source.
#define SMTL_NUMBER_FUNCTION2(name)                                                                                  \
    SMTL_FLOAT_TYPES(SMTL_BINARY, name)                                                                              \
    SMTL_INTEGER_TYPES(SMTL_BINARY, name)                                                                            \
    template <class T, class = enable_if_t<smtl_detail::is_bfloat_v<T> ||                                            \
                                           (smtl_detail::is_integer_v<T> && !is_same_v<T, bool>)>>                   \
    SMTL_FUNCTION T name(T a, T b) {                                                                                 \
        return smtl_detail::apply<smtl_detail::name##_op>(a, b);                                                     \
    }                                                                                                                \
    template <class A, class B, class... None, class R = smtl_detail::met_t<true, A, B>,                             \
              class = enable_if_t<!smtl_detail::all_same_v<A, B> && smtl_detail::is_helper_v<None...>>>              \
    SMTL_FUNCTION R name(A a, B b, None...) {                                                                        \
        return name(R(a), R(b));                                                                                     \
    }                                                                                                                \
    template <class T, int N, class S, class = enable_if_t<is_arithmetic_v<S> && !smtl_is_one_of_v<T, float, half>>> \
    SMTL_FUNCTION vec<T, N> name(vec<T, N> a, S b) {                                                                 \
        return name(a, vec<T, N>(T(b)));                                                                             \
    }                                                                                                                \
    template <class T, int N, class S, class = enable_if_t<is_arithmetic_v<S> && !smtl_is_one_of_v<T, float, half>>> \
    SMTL_FUNCTION vec<T, N> name(S a, vec<T, N> b) {                                                                 \
        return name(vec<T, N>(T(a)), b);                                                                             \
    }                                                                                                                \
    SMTL_VECTOR_FUNCTION(name)

#define SMTL_NUMBER_FUNCTION3(name)                                                                               \
    SMTL_FLOAT_TYPES(SMTL_TERNARY, name)                                                                          \
    SMTL_INTEGER_TYPES(SMTL_TERNARY, name)                                                                        \
    template <class T, class = enable_if_t<smtl_detail::is_bfloat_v<T> ||                                         \
                                           (smtl_detail::is_integer_v<T> && !is_same_v<T, bool>)>>                \
    SMTL_FUNCTION T name(T a, T b, T c) {                                                                         \
        return smtl_detail::apply<smtl_detail::name##_op>(a, b, c);                                               \
    }                                                                                                             \
    template <class A, class B, class C, class... None, class R = smtl_detail::met_t<true, A, B, C>,              \
              class = enable_if_t<!smtl_detail::all_same_v<A, B, C> && smtl_detail::is_helper_v<None...>>>        \
    SMTL_FUNCTION R name(A a, B b, C c, None...) {                                                                \
        return name(R(a), R(b), R(c));                                                                            \
    }                                                                                                             \
    template <class T, int N, class S, class U,                                                                   \
              class = enable_if_t<is_arithmetic_v<S> && is_arithmetic_v<U> && !smtl_is_one_of_v<T, float, half>>> \
    SMTL_FUNCTION vec<T, N> name(vec<T, N> a, S b, U c) {                                                         \
        return name(a, vec<T, N>(T(b)), vec<T, N>(T(c)));                                                         \
    }                                                                                                             \
    SMTL_VECTOR_FUNCTION(name)

}  // namespace metal
