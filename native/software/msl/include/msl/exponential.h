// exp and what is made of it, and logarithms, written so that loops over threads vectorise: calls into the C library
// would not.
#pragma once

#include "scalar.h"

namespace metal {
namespace smtl_detail {

// Two to the power of an integer-valued float between -150 and 128, as two factors of which neither leaves the range.
// `shifted` is that number plus 0x1.8p23, whose lowest bits are the integer.
SMTL_FUNCTION float scale_by_power(float value, float shifted) {
    // The product of the factors alone may leave the range: 2 to the power of 128 does.
#pragma clang fp reassociate(off)
    const int n = __builtin_bit_cast(int, shifted) - 0x4b400000;
    const int half_n = n >> 1;
    const float first = __builtin_bit_cast(float, (half_n + 127) << 23);
    const float second = __builtin_bit_cast(float, (n - half_n + 127) << 23);
    return value * first * second;
}

// e to the power of r for |r| <= ln(2) / 2: the series, whose first term left out is below a quarter of an ulp.
SMTL_FUNCTION float exp_series(float r) {
    float p = 1.0f / 5040;
    p = __builtin_fmaf(p, r, 1.0f / 720);
    p = __builtin_fmaf(p, r, 1.0f / 120);
    p = __builtin_fmaf(p, r, 1.0f / 24);
    p = __builtin_fmaf(p, r, 1.0f / 6);
    p = __builtin_fmaf(p, r, 0.5f);
    p = __builtin_fmaf(p, r, 1.0f);
    return __builtin_fmaf(p, r, 1.0f);
}

SMTL_FUNCTION float bounded(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

// The power of x, which `value` is between the bounds. Beyond them it is said to be zero or infinite: in fast math the
// caller's factors could come between those of scale_by_power, and no overflow would show. A NaN passes through.
SMTL_FUNCTION float between(float x, float low, float high, float value) {
    value = x < low ? 0.0f : value;
    return x > high ? __builtin_inff() : value;
}

SMTL_FUNCTION float exp_scalar(float x) {
#pragma clang fp reassociate(off)
    constexpr float low = -104.0f, high = 88.72283935546875f;
    const float inside = bounded(x, low, high);
    const float shifted = __builtin_fmaf(inside, 1.44269504088896340736f, 0x1.8p23f);
    const float n = shifted - 0x1.8p23f;
    // ln(2) in two parts, the first of which n times is exact.
    float r = __builtin_fmaf(n, -0x1.62e4p-1f, inside);
    r = __builtin_fmaf(n, -0x1.7f7d1cp-20f, r);
    return between(x, low, high, scale_by_power(exp_series(r), shifted));
}

SMTL_FUNCTION float exp2_scalar(float x) {
#pragma clang fp reassociate(off)
    constexpr float low = -150.0f, high = 0x1.fffffep6f;
    const float inside = bounded(x, low, high);
    const float shifted = inside + 0x1.8p23f;
    const float n = shifted - 0x1.8p23f;
    return between(x, low, high, scale_by_power(exp_series((inside - n) * 0.69314718055994530942f), shifted));
}

// Odd, and for small arguments by its series, where the quotient would cancel.
SMTL_FUNCTION float tanh_scalar(float x) {
#pragma clang fp reassociate(off)
    const float magnitude = __builtin_fabsf(x);
    const float square = x * x;
    const float quotient = 1.0f - 2.0f / (exp_scalar(2.0f * magnitude) + 1.0f);
    // x - x^3/3 + 2x^5/15 - 17x^7/315 + 62x^9/2835
    float p = 62.0f / 2835;
    p = __builtin_fmaf(p, square, -17.0f / 315);
    p = __builtin_fmaf(p, square, 2.0f / 15);
    p = __builtin_fmaf(p, square, -1.0f / 3);
    p = __builtin_fmaf(p * square, magnitude, magnitude);
    return __builtin_copysignf(magnitude < 0.25f ? p : quotient, x);
}

// A number as m times two to the power of `exponent`, with m within a factor of sqrt(2) of 1, and the logarithm of m: a
// polynomial of the distance from 1, wrong by 1.4e-8 of the result. For zero, negative numbers, infinity and NaN see
// logarithm.
struct log_parts {
    float exponent, of_rest;
};

SMTL_FUNCTION log_parts log_parts_of(float x) {
#pragma clang fp reassociate(off)
    const bool is_tiny = x < 0x1p-126f;
    const unsigned bits = __builtin_bit_cast(unsigned, is_tiny ? x * 0x1p23f : x) + (0x3f800000u - 0x3f3504f3u);
    const float t = __builtin_bit_cast(float, (bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -0.0767364129f;
    p = __builtin_fmaf(p, t, 0.127226725f);
    p = __builtin_fmaf(p, t, -0.13127555f);
    p = __builtin_fmaf(p, t, 0.142048553f);
    p = __builtin_fmaf(p, t, -0.166266456f);
    p = __builtin_fmaf(p, t, 0.200012341f);
    p = __builtin_fmaf(p, t, -0.250007808f);
    p = __builtin_fmaf(p, t, 0.333333313f);
    p = __builtin_fmaf(p, t, -0.49999997f);
    return {static_cast<float>(static_cast<int>(bits >> 23) - (is_tiny ? 150 : 127)), __builtin_fmaf(t * t, p, t)};
}

// The logarithm of x, which is `value` for positive numbers.
SMTL_FUNCTION float logarithm(float x, float value) {
    value = x > 0.0f ? value : x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
    return x == __builtin_inff() ? x : value;
}

SMTL_FUNCTION float log_scalar(float x) {
#pragma clang fp reassociate(off)
    const log_parts parts = log_parts_of(x);
    // ln(2) in two parts.
    const float value = __builtin_fmaf(parts.exponent, 0.693147182f, parts.of_rest);
    return logarithm(x, __builtin_fmaf(parts.exponent, -1.90465432e-9f, value));
}

SMTL_FUNCTION float log2_scalar(float x) {
#pragma clang fp reassociate(off)
    const log_parts parts = log_parts_of(x);
    return logarithm(x, __builtin_fmaf(parts.of_rest, 1.44269504088896340736f, parts.exponent));
}

}  // namespace smtl_detail
}  // namespace metal
