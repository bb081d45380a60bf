// Built-in functions of Apple's Metal compiler that stand behind those of its standard library, for kernels that call
// them by name (MLX does, where it adds overloads for bfloat). The last argument chooses fast mathematics, which here
// is the source's own choice for all of it.
#pragma once

#include "math.h"

#define SMTL_BUILTIN1(name) \
    template <class T> SMTL_FUNCTION T __metal_##name(T x, bool = false) { return metal::name(x); }
#define SMTL_BUILTIN2(name) \
    template <class T> SMTL_FUNCTION T __metal_##name(T x, T y, bool = false) { return metal::name(x, y); }
#define SMTL_BUILTIN3(name) \
    template <class T> SMTL_FUNCTION T __metal_##name(T x, T y, T z, bool = false) { return metal::name(x, y, z); }

SMTL_BUILTIN1(acos)
SMTL_BUILTIN1(acosh)
SMTL_BUILTIN1(asin)
SMTL_BUILTIN1(asinh)
SMTL_BUILTIN1(atan)
SMTL_BUILTIN1(atanh)
SMTL_BUILTIN1(ceil)
SMTL_BUILTIN1(cos)
SMTL_BUILTIN1(cosh)
SMTL_BUILTIN1(cospi)
SMTL_BUILTIN1(exp)
SMTL_BUILTIN1(exp2)
SMTL_BUILTIN1(exp10)
SMTL_BUILTIN1(fabs)
SMTL_BUILTIN1(floor)
SMTL_BUILTIN1(fract)
SMTL_BUILTIN1(log)
SMTL_BUILTIN1(log2)
SMTL_BUILTIN1(log10)
SMTL_BUILTIN1(rint)
SMTL_BUILTIN1(round)
SMTL_BUILTIN1(rsqrt)
SMTL_BUILTIN1(saturate)
SMTL_BUILTIN1(sign)
SMTL_BUILTIN1(sin)
SMTL_BUILTIN1(sinh)
SMTL_BUILTIN1(sinpi)
SMTL_BUILTIN1(sqrt)
SMTL_BUILTIN1(tan)
SMTL_BUILTIN1(tanh)
SMTL_BUILTIN1(tanpi)
SMTL_BUILTIN1(trunc)
SMTL_BUILTIN2(atan2)
SMTL_BUILTIN2(copysign)
SMTL_BUILTIN2(divide)
SMTL_BUILTIN2(fdim)
SMTL_BUILTIN2(fmax)
SMTL_BUILTIN2(fmin)
SMTL_BUILTIN2(fmod)
SMTL_BUILTIN2(nextafter)
SMTL_BUILTIN2(pow)
SMTL_BUILTIN2(powr)
SMTL_BUILTIN3(fma)
SMTL_BUILTIN3(fmax3)
SMTL_BUILTIN3(fmin3)
SMTL_BUILTIN3(fmedian3)

template <class T, class E> SMTL_FUNCTION T __metal_ldexp(T x, E exponent, bool = false) {
    return metal::ldexp(x, exponent);
}
template <class T, class Pointer> SMTL_FUNCTION T __metal_frexp(T x, Pointer exponent) {
    return metal::frexp(x, *exponent);
}
