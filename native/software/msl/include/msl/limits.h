// <metal_limits>
#pragma once

#include "integer.h"

namespace metal {

enum float_round_style {
    round_indeterminate = -1,
    round_toward_zero = 0,
    round_to_nearest = 1
};

// Sources that bring number types of their own specialise this name of Apple's library.
template <class T> struct _numeric_limits_impl {
    static constexpr bool is_specialized = false;
};
template <class T> struct numeric_limits : _numeric_limits_impl<remove_cv_t<T>> {};

template <class T> struct smtl_integer_limits {
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = is_signed_v<T>;
    static constexpr bool is_integer = true;
    static constexpr bool is_exact = true;
    static constexpr bool has_infinity = false;
    static constexpr bool has_quiet_NaN = false;
    static constexpr int radix = 2;
    static constexpr int digits = int(sizeof(T) * 8) - is_signed;
    static constexpr int digits10 = digits * 643L / 2136;
    static constexpr T min() { return smtl_detail::smallest<T>; }
    static constexpr T max() { return smtl_detail::largest<T>; }
    static constexpr T lowest() { return min(); }
    static constexpr T epsilon() { return T(0); }
};
#define SMTL_INTEGER_LIMITS(T) \
    template <> struct _numeric_limits_impl<T> : smtl_integer_limits<T> {};
SMTL_INTEGER_LIMITS(char)
SMTL_INTEGER_LIMITS(signed char)
SMTL_INTEGER_LIMITS(uchar)
SMTL_INTEGER_LIMITS(short)
SMTL_INTEGER_LIMITS(ushort)
SMTL_INTEGER_LIMITS(int)
SMTL_INTEGER_LIMITS(uint)
SMTL_INTEGER_LIMITS(long)
SMTL_INTEGER_LIMITS(ulong)

template <> struct _numeric_limits_impl<bool> : smtl_integer_limits<uchar> {
    static constexpr int digits = 1;
    static constexpr int digits10 = 0;
    static constexpr bool min() { return false; }
    static constexpr bool max() { return true; }
    static constexpr bool lowest() { return false; }
    static constexpr bool epsilon() { return false; }
};

// A binary format with this many bits of significand, the hidden one included, and this exponent of the largest binade.
template <class T, int Digits, int MaxExponent> struct smtl_float_limits {
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = true;
    static constexpr bool is_integer = false;
    static constexpr bool is_exact = false;
    static constexpr bool has_infinity = true;
    static constexpr bool has_quiet_NaN = true;
    static constexpr float_round_style round_style = round_to_nearest;
    static constexpr int radix = 2;
    static constexpr int digits = Digits;
    static constexpr int digits10 = (Digits - 1) * 643L / 2136;
    static constexpr int max_exponent = MaxExponent;
    static constexpr int min_exponent = 3 - MaxExponent;
    static constexpr int max_exponent10 = MaxExponent * 643L / 2136;
    static constexpr int min_exponent10 = (min_exponent - 1) * 643L / 2136;
    static constexpr float power(int exponent) {
        float value = 1.0f;
        for (; exponent > 0; --exponent) value *= 2.0f;
        for (; exponent < 0; ++exponent) value *= 0.5f;
        return value;
    }
    static constexpr T min() { return T(power(min_exponent - 1)); }
    static constexpr T max() { return T((2.0f - power(1 - Digits)) * power(MaxExponent - 1)); }
    static constexpr T lowest() { return T(-float(max())); }
    static constexpr T epsilon() { return T(power(1 - Digits)); }
    static constexpr T round_error() { return T(0.5f); }
    static constexpr T infinity() { return T(__builtin_inff()); }
    static constexpr T quiet_NaN() { return T(__builtin_nanf("")); }
    static constexpr T signaling_NaN() { return T(__builtin_nansf("")); }
    static constexpr T denorm_min() { return T(power(min_exponent - Digits)); }
};
template <> struct _numeric_limits_impl<float> : smtl_float_limits<float, 24, 128> {};
template <> struct _numeric_limits_impl<half> : smtl_float_limits<half, 11, 16> {};
template <> struct _numeric_limits_impl<bfloat> : smtl_float_limits<bfloat, 8, 128> {};

}  // namespace metal
