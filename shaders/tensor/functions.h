// Functions of one float that Metal's library lacks, and those that neural networks are made of. They are compiled in
// the safe mode of floating point, and are exact to some units in the last place unless their comment says otherwise.
#ifndef METAL_BRIDGE_FUNCTIONS_H
#define METAL_BRIDGE_FUNCTIONS_H

#include <metal_stdlib>

using namespace metal;

// The rounding errors of 1 + x and of its logarithm cancel (Higham 2002, Accuracy and Stability, section 1.14.1).
inline float log1p_of(float x) {
    const float u = 1.0f + x;
    if (u == 1.0f || u == INFINITY) return x;
    return precise::log(u) * (x / (u - 1.0f));
}

// The same for exp(x) - 1.
inline float expm1_of(float x) {
    const float u = precise::exp(x);
    if (u == 1.0f) return x;
    if (u - 1.0f == -1.0f || isinf(u)) return u - 1.0f;
    return (u - 1.0f) * (x / precise::log(u));
}

// exp(-x^2) without the error of the square's rounding.
inline float exp_of_minus_square(float x) {
    const float square = x * x;
    const float rounded = precise::exp(-square);
    // Of large squares the rounding error may exceed 1.
    return rounded == 0.0f ? 0.0f : rounded * (1.0f - fma(x, x, -square));
}

// 1 - erf(x) for x >= 0: exp(-x^2) times a polynomial of 1 / (1 + x / 2), fitted to the relative error 7e-9.
inline float erfc_of_positive(float x) {
    const float t = 1.0f / (1.0f + 0.5f * x);
    float sum = 0.0444684374f;
    sum = fma(sum, t, -0.241234371f);
    sum = fma(sum, t, 0.507889465f);
    sum = fma(sum, t, -0.472278306f);
    sum = fma(sum, t, 0.145079359f);
    sum = fma(sum, t, -0.0652726453f);
    sum = fma(sum, t, 0.0952448439f);
    sum = fma(sum, t, 0.175000632f);
    sum = fma(sum, t, 0.246915436f);
    sum = fma(sum, t, 0.28209234f);
    sum = fma(sum, t, 0.282094816f);
    return exp_of_minus_square(x) * t * sum;
}

inline float erfc_of(float x) { return x >= 0.0f ? erfc_of_positive(x) : 2.0f - erfc_of_positive(-x); }

// Up to 1 an odd polynomial, fitted to the relative error 2e-9.
inline float erf_of(float x) {
    const float size = fabs(x);
    if (size > 1.0f) return copysign(1.0f - erfc_of_positive(size), x);
    const float square = x * x;
    float sum = 7.85385765e-05f;
    sum = fma(sum, square, -0.00080101925f);
    sum = fma(sum, square, 0.00518832756f);
    sum = fma(sum, square, -0.0268538119f);
    sum = fma(sum, square, 0.112835851f);
    sum = fma(sum, square, -0.376126258f);
    sum = fma(sum, square, 1.12837917f);
    return x * sum;
}

// No exponential overflows: far below zero the result is small, and the product with x is not.
inline float sigmoid_of(float x) {
    const float small = precise::exp(-fabs(x));
    return (x < 0.0f ? small : 1.0f) / (1.0f + small);
}

inline float softplus_of(float x) {
    const float size = fabs(x);
    return fmax(x, 0.0f) + log1p_of(precise::exp(-size)) + (isnan(x) ? x : 0.0f);
}

// Hendrycks and Gimpel 2016, arXiv:1606.08415: x times the normal distribution's share below x.
inline float gelu_of(float x) { return 0.5f * x * erfc_of(-0.707106781f * x); }

// Its approximation of section 2. `tanh` is written as a sigmoid, so that nothing cancels far below zero.
inline float gelu_tanh_of(float x) { return x * sigmoid_of(1.59576912f * (x + 0.044715f * x * x * x)); }

#endif
