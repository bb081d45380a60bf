// <metal_math>
#pragma once

#include "apply.h"
#include "exponential.h"

namespace metal {
namespace smtl_detail {

// `whole`: the expression also works on clang's vectors.
#define SMTL_OP1(name, expression)                                    \
    struct name##_op {                                                \
        static constexpr bool whole = false;                          \
        static SMTL_FUNCTION float on(float x) { return expression; } \
    };
#define SMTL_OP2(name, expression)                                             \
    struct name##_op {                                                         \
        static constexpr bool whole = false;                                   \
        static SMTL_FUNCTION float on(float x, float y) { return expression; } \
    };
#define SMTL_WHOLE_OP1(name, expression)                                         \
    struct name##_op {                                                           \
        static constexpr bool whole = true;                                      \
        template <class V> static SMTL_FUNCTION V on(V x) { return expression; } \
    };
#define SMTL_WHOLE_OP2(name, expression)                                              \
    struct name##_op {                                                                \
        static constexpr bool whole = true;                                           \
        template <class V> static SMTL_FUNCTION V on(V x, V y) { return expression; } \
    };
#define SMTL_WHOLE_OP3(name, expression)                                                   \
    struct name##_op {                                                                     \
        static constexpr bool whole = true;                                                \
        template <class V> static SMTL_FUNCTION V on(V x, V y, V z) { return expression; } \
    };

// Sine and cosine of a multiple of pi: from the nearest multiple of pi/2, the distance to which is exact, so that zeros
// are. The C library sees an eighth of a turn.
SMTL_FUNCTION float sinpi_scalar(float x) {
#pragma clang fp reassociate(off)
    constexpr float pi = 3.14159265358979323846f;
    const float turn = x - 2.0f * __builtin_rintf(0.5f * x), half_turn = __builtin_fabsf(turn);
    const float y = half_turn > 0.5f ? 1.0f - half_turn : half_turn;
    const float sine = y <= 0.25f ? __builtin_sinf(pi * y) : __builtin_cosf(pi * (0.5f - y));
    return __builtin_copysignf(sine, y == 0.0f ? x : turn);
}
SMTL_FUNCTION float cospi_scalar(float x) {
#pragma clang fp reassociate(off)
    constexpr float pi = 3.14159265358979323846f;
    const float y = __builtin_fabsf(x - 2.0f * __builtin_rintf(0.5f * x));
    if (y <= 0.25f) return __builtin_cosf(pi * y);
    return y < 0.75f ? __builtin_sinf(pi * (0.5f - y)) : -__builtin_cosf(pi * (1.0f - y));
}

// Near its poles as the reciprocal from the other side, where the distance to the pole is exact.
SMTL_FUNCTION float tanpi_scalar(float x) {
#pragma clang fp reassociate(off)
    const float y = x - __builtin_rintf(x);
    const float magnitude = __builtin_fabsf(y);
    const float tangent = magnitude <= 0.25f ? __builtin_tanf(3.14159265358979323846f * magnitude)
                                             : 1.0f / __builtin_tanf(3.14159265358979323846f * (0.5f - magnitude));
    return __builtin_copysignf(tangent, y);
}

// Of a power n + 0.5 that it knows, the optimiser makes powi(x, n) * sqrt(x) where functions may be approximate. These
// factors leave the range of numbers long before the power does. Whole powers stay products.
#pragma float_control(push)
#pragma float_control(precise, on)
// Of a power of 2^n it makes exp2(n * y), in all modes. Unless n is a power of two itself, the product's rounding is an
// error of up to 45 units in the last place, but none in double precision.
SMTL_FUNCTION bool rounds_exponents(float base) {
    const int bits = __builtin_bit_cast(int, base), n = (bits >> 23) - 127, size = n < 0 ? -n : n;
    return bits > 0 && bits << 9 == 0 && (size & (size - 1)) != 0;
}
SMTL_FUNCTION float power(float x, float y) {
    return __builtin_constant_p(x) && rounds_exponents(x) ? float(__builtin_pow(double(x), double(y)))
                                                          : __builtin_powf(x, y);
}
#pragma float_control(pop)
SMTL_FUNCTION float pow_scalar(float x, float y) {
    return __builtin_constant_p(y) && y == __builtin_truncf(y) ? __builtin_powf(x, y) : power(x, y);
}

SMTL_OP1(acos, __builtin_acosf(x))
SMTL_OP1(acosh, __builtin_acoshf(x))
SMTL_OP1(asin, __builtin_asinf(x))
SMTL_OP1(asinh, __builtin_asinhf(x))
SMTL_OP1(atan, __builtin_atanf(x))
SMTL_OP1(atanh, __builtin_atanhf(x))
SMTL_OP2(atan2, __builtin_atan2f(x, y))
SMTL_WHOLE_OP1(ceil, __builtin_elementwise_ceil(x))
SMTL_WHOLE_OP2(copysign, __builtin_elementwise_copysign(x, y))
SMTL_OP1(cos, __builtin_cosf(x))
SMTL_OP1(cosh, __builtin_coshf(x))
SMTL_OP1(cospi, cospi_scalar(x))
SMTL_WHOLE_OP2(divide, x / y)
SMTL_OP1(exp, exp_scalar(x))
SMTL_OP1(exp2, exp2_scalar(x))
SMTL_OP1(exp10, __builtin_exp10f(x))
SMTL_WHOLE_OP1(fabs, __builtin_elementwise_abs(x))
SMTL_OP2(fdim, x > y ? x - y : (x <= y ? 0.0f : x + y))
SMTL_WHOLE_OP1(floor, __builtin_elementwise_floor(x))
SMTL_WHOLE_OP2(fmax, __builtin_elementwise_max(x, y))
SMTL_WHOLE_OP2(fmin, __builtin_elementwise_min(x, y))
SMTL_WHOLE_OP3(fmax3, __builtin_elementwise_max(x, __builtin_elementwise_max(y, z)))
SMTL_WHOLE_OP3(fmin3, __builtin_elementwise_min(x, __builtin_elementwise_min(y, z)))
SMTL_WHOLE_OP3(fmedian3, __builtin_elementwise_max(__builtin_elementwise_min(x, y),
                                                   __builtin_elementwise_min(__builtin_elementwise_max(x, y), z)))
SMTL_OP2(fmod, __builtin_fmodf(x, y))
SMTL_OP1(log, log_scalar(x))
SMTL_OP1(log2, log2_scalar(x))
SMTL_OP1(log10, __builtin_log10f(x))
SMTL_OP2(pow, pow_scalar(x, y))
SMTL_OP2(powr, pow_scalar(x, y))
SMTL_WHOLE_OP1(rint, __builtin_elementwise_roundeven(x))
SMTL_OP1(round, __builtin_roundf(x))
// Rounded twice, which for no float differs from rounding once.
SMTL_OP1(rsqrt, float(1.0 / __builtin_sqrt(double(x))))
SMTL_WHOLE_OP1(saturate, __builtin_elementwise_min(__builtin_elementwise_max(x, V(0.0f)), V(1.0f)))
SMTL_OP1(sign, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : (x == 0.0f ? x : 0.0f)))
SMTL_OP1(sin, __builtin_sinf(x))
SMTL_OP1(sinh, __builtin_sinhf(x))
SMTL_OP1(sinpi, sinpi_scalar(x))
SMTL_WHOLE_OP1(sqrt, __builtin_elementwise_sqrt(x))
SMTL_OP1(tan, __builtin_tanf(x))
SMTL_OP1(tanh, tanh_scalar(x))
SMTL_OP1(tanpi, tanpi_scalar(x))
SMTL_WHOLE_OP1(trunc, __builtin_elementwise_trunc(x))

// What follows the point, with the sign of x: nothing does in an infinity.
struct fraction_op {
    static constexpr bool whole = true;
    template <class V> static SMTL_FUNCTION V on(V x) {
        const V integer = __builtin_elementwise_trunc(x);
        return __builtin_elementwise_copysign(x == integer ? V(0.0f) : x - integer, x);
    }
};

// The largest number below one.
template <class T> constexpr float below_one = 0x1.fffffep-1f;
template <> inline constexpr float below_one<half> = 0x1.ffcp-1f;
template <> inline constexpr float below_one<bfloat> = 0x1.fep-1f;

// Below one even where x is a tiny negative number. A NaN stays one.
template <class T> struct fract_of {
    static constexpr bool whole = true;
    template <class V> static SMTL_FUNCTION V on(V x) {
        const V part = x - __builtin_elementwise_floor(x);
        return V(below_one<T>) < part ? V(below_one<T>) : part;
    }
};

// The neighbour that a half or a bfloat has is further away than that of a float.
template <class T> struct nextafter_of {
    static constexpr bool whole = false;
    static SMTL_FUNCTION float on(float x, float y) {
        if constexpr (is_same_v<T, float>) {
            return __builtin_nextafterf(x, y);
        } else {
            if (__builtin_isunordered(x, y)) return x + y;
            if (x == y) return y;
            const ushort bits = __builtin_bit_cast(ushort, T(x));
            const bool away = (x < y) == (x > 0.0f);
            const ushort next = x == 0.0f ? ushort(1 | (y < 0.0f) << 15) : ushort(away ? bits + 1 : bits - 1);
            return float(__builtin_bit_cast(T, next));
        }
    }
};

// A number that is rounded again, to fewer bits, as the exact one would be: its last bit is set unless it is exact.
// `error`: what is missing of the exact one, or its sign. Infinities have none.
template <class Bits, class F> SMTL_FUNCTION F rounded_to_odd(F value, F error) {
    const Bits bits = __builtin_bit_cast(Bits, value);
    const bool inexact = error < F(0) || error > F(0);
    const Bits step = (error < F(0)) == (bits < 0) ? 1 : -1;
    return inexact && (bits & 1) == 0 ? __builtin_bit_cast(F, Bits(bits + step)) : value;
}

// The product is exact in F, and what the sum loses of it is too (Knuth's sum of two numbers).
template <class Bits, class F> SMTL_FUNCTION F fma_rounded_to_odd(F x, F y, F z) {
#pragma clang fp reassociate(off) contract(off)
    const F product = x * y, sum = product + z, added = sum - product;
    return rounded_to_odd<Bits>(sum, (product - (sum - added)) + (z - added));
}

// Rounded once: a float that is rounded again can be the midpoint of two halves where the exact number is not. Products
// of halves fit into a float. Those of bfloats do too, except for their exponents, and then into a double.
template <class T> struct fma_of {
    static constexpr bool whole = false;
    static SMTL_FUNCTION float on(float x, float y, float z) {
#pragma clang fp reassociate(off)
        if constexpr (is_same_v<T, half>) return fma_rounded_to_odd<int, float>(x, y, z);
        const double exact = fma_rounded_to_odd<long, double>(double(x), double(y), double(z));
        const float nearest = float(exact);
        // Made large, as a float it keeps its sign, which is what counts.
        return rounded_to_odd<int, float>(nearest, float((exact - double(nearest)) * 0x1p200));
    }
};
template <> struct fma_of<float> {
    static constexpr bool whole = true;
    template <class V> static SMTL_FUNCTION V on(V x, V y, V z) { return __builtin_elementwise_fma(x, y, z); }
};

}  // namespace smtl_detail

SMTL_FLOAT_FUNCTION1(acos)
SMTL_FLOAT_FUNCTION1(acosh)
SMTL_FLOAT_FUNCTION1(asin)
SMTL_FLOAT_FUNCTION1(asinh)
SMTL_FLOAT_FUNCTION1(atan)
SMTL_FLOAT_FUNCTION1(atanh)
SMTL_FLOAT_FUNCTION2(atan2)
SMTL_FLOAT_FUNCTION1(ceil)
SMTL_FLOAT_FUNCTION2(copysign)
SMTL_FLOAT_FUNCTION1(cos)
SMTL_FLOAT_FUNCTION1(cosh)
SMTL_FLOAT_FUNCTION1(cospi)
SMTL_FLOAT_FUNCTION2(divide)
SMTL_FLOAT_FUNCTION1(exp)
SMTL_FLOAT_FUNCTION1(exp2)
SMTL_FLOAT_FUNCTION1(exp10)
SMTL_FLOAT_FUNCTION1(fabs)
SMTL_FLOAT_FUNCTION2(fdim)
SMTL_FLOAT_FUNCTION1(floor)
SMTL_FLOAT_FUNCTION3_BY(SMTL_TERNARY_OF, fma)
SMTL_FLOAT_FUNCTION2(fmax)
SMTL_FLOAT_FUNCTION2(fmin)
SMTL_FLOAT_FUNCTION3(fmax3)
SMTL_FLOAT_FUNCTION3(fmin3)
SMTL_FLOAT_FUNCTION3(fmedian3)
SMTL_FLOAT_FUNCTION2(fmod)
SMTL_FLOAT_FUNCTION1_BY(SMTL_UNARY_OF, fract)
SMTL_FLOAT_FUNCTION1(log)
SMTL_FLOAT_FUNCTION1(log2)
SMTL_FLOAT_FUNCTION1(log10)
SMTL_FLOAT_FUNCTION2_BY(SMTL_BINARY_OF, nextafter)
SMTL_FLOAT_FUNCTION2(pow)
SMTL_FLOAT_FUNCTION2(powr)
SMTL_FLOAT_FUNCTION1(rint)
SMTL_FLOAT_FUNCTION1(round)
SMTL_FLOAT_FUNCTION1(rsqrt)
SMTL_FLOAT_FUNCTION1(saturate)
SMTL_FLOAT_FUNCTION1(sign)
SMTL_FLOAT_FUNCTION1(sin)
SMTL_FLOAT_FUNCTION1(sinh)
SMTL_FLOAT_FUNCTION1(sinpi)
SMTL_FLOAT_FUNCTION1(sqrt)
SMTL_FLOAT_FUNCTION1(tan)
SMTL_FLOAT_FUNCTION1(tanh)
SMTL_FLOAT_FUNCTION1(tanpi)
SMTL_FLOAT_FUNCTION1(trunc)

// Functions with a second result or an integer argument.
#define SMTL_PACKED_AND_RESULT(name)                                                                                \
    template <class V, class R> SMTL_FUNCTION V name(smtl_packed_of<V> x, R &result) { return name(V(x), result); } \
    SMTL_IN_NAMESPACES(name)
#define SMTL_MODF(T, name)                                      \
    SMTL_FUNCTION T name(T x, smtl_type_identity_t<T> &whole) { \
        whole = trunc(x);                                       \
        return smtl_detail::apply<smtl_detail::fraction_op>(x); \
    }
#define SMTL_SINCOS(T, name)                                     \
    SMTL_FUNCTION T name(T x, smtl_type_identity_t<T> &cosine) { \
        cosine = cos(x);                                         \
        return sin(x);                                           \
    }
#define SMTL_SPLIT_FUNCTION(M, name) \
    SMTL_FLOAT_TYPES(M, name)        \
    template <class T, class = enable_if_t<smtl_detail::is_bfloat_v<T>>> M(T, name) SMTL_PACKED_AND_RESULT(name)
SMTL_SPLIT_FUNCTION(SMTL_MODF, modf)
SMTL_SPLIT_FUNCTION(SMTL_SINCOS, sincos)

template <class T, class = enable_if_t<is_floating_point_v<T>>> SMTL_FUNCTION T ldexp(T x, int exponent) {
    return T(__builtin_ldexpf(float(x), exponent));
}
// Processors differ in what NaN gives.
SMTL_FUNCTION int ilogb(float x) { return x != x ? __INT_MAX__ : __builtin_ilogbf(x); }
SMTL_FUNCTION int ilogb(half x) { return ilogb(float(x)); }
template <class T, class = enable_if_t<is_same_v<T, bfloat>>> SMTL_FUNCTION int ilogb(T x) { return ilogb(float(x)); }
template <class T, class = enable_if_t<is_floating_point_v<T>>> SMTL_FUNCTION T frexp(T x, int &exponent) {
    return T(__builtin_frexpf(float(x), &exponent));
}
template <class T, int N> SMTL_FUNCTION vec<T, N> ldexp(vec<T, N> x, vec<int, N> exponent) {
    vec<T, N> result;
    for (int i = 0; i < N; ++i) result.native[i] = ldexp(T(x.native[i]), exponent.native[i]);
    return result;
}
template <class T, int N> SMTL_FUNCTION vec<int, N> ilogb(vec<T, N> x) {
    vec<int, N> result;
    for (int i = 0; i < N; ++i) result.native[i] = ilogb(T(x.native[i]));
    return result;
}
template <class T, int N> SMTL_FUNCTION vec<T, N> frexp(vec<T, N> x, vec<int, N> &exponent) {
    vec<T, N> result;
    for (int i = 0; i < N; ++i) {
        int e;
        result.native[i] = frexp(T(x.native[i]), e);
        exponent.native[i] = e;
    }
    return result;
}
SMTL_VECTOR_FUNCTION(ldexp)
SMTL_VECTOR_FUNCTION(ilogb)
SMTL_PACKED_AND_RESULT(frexp)

}  // namespace metal
