// Element by element: four at a time, the last thread takes what is left over.
#include "order.h"

// Which gate: 0 SiLU, 1 GELU by its approximation with tanh, 2 that of gpt-oss.
constant uint activation [[function_constant(0)]];

// The gate of SwiGLU (Shazeer 2020, arXiv:2002.05202): silu(a) * b. Below the bound the exponential overflows and silu
// is 0. The exponential is kept finite, since fast math may not be asked to divide by infinity.
inline float4 silu(float4 a) {
    constexpr float bound = -88.7f;
    const float4 result = a / (1.0f + exp(-max(a, float4(bound))));
    return select(result, float4(0.0f), a < bound);
}

// Beyond the bound GELU is a or 0 to the last bit; the cube of a large `a` would overflow.
inline float4 gelu(float4 a) {
    constexpr float bound = 10.0f;
    const float4 inner = clamp(a, -bound, bound);
    const float4 argument = 0.7978845608f * fma(0.044715f * inner * inner, inner, inner);
    const float4 result = 0.5f * inner * (1.0f + precise::tanh(argument));
    return select(select(result, float4(0.0f), a < -bound), a, a > bound);
}

// Both factors are clamped, the sigmoid is steeper than that of SiLU, and 1 is added to b.
inline float4 clamped_gate(float4 a, float4 b) {
    constexpr float limit = 7.0f;
    constexpr float steepness = 1.702f;
    const float4 inner = min(a, float4(limit));
    return silu(steepness * inner) / steepness * (clamp(b, -limit, limit) + 1.0f);
}

inline float4 gate(float4 a, float4 b) {
    const float4 result = activation == 2 ? clamped_gate(a, b) : (activation == 1 ? gelu(a) : silu(a)) * b;
    // The bounds above lose it.
    return keep_nan(a, keep_nan(b, result));
}

inline float4 load4(device const float *source, uint start, uint count) {
    if (start + 4 <= count) {
        return float4(*(device const packed_float4 *)(source + start));
    }
    float4 value = float4(0.0f);
    for (uint i = 0; start + i < count; i++) {
        value[i] = source[start + i];
    }
    return value;
}

inline void store4(device float *target, uint start, uint count, float4 value) {
    if (start + 4 <= count) {
        *(device packed_float4 *)(target + start) = packed_float4(value);
        return;
    }
    for (uint i = 0; start + i < count; i++) {
        target[start + i] = value[i];
    }
}

// y = gate(a, b); y may be a or b.
kernel void gate_multiply(constant uint &count [[buffer(0)]],
                          device const float *a [[buffer(1)]],
                          device const float *b [[buffer(2)]],
                          device float *y [[buffer(3)]],
                          uint quad [[thread_position_in_grid]]) {
    const uint start = quad * 4;
    store4(y, start, count, gate(load4(a, start, count), load4(b, start, count)));
}

struct CapArguments {
    uint count;
    float cap;
};

// x = cap * tanh(x / cap), in place.
kernel void soft_cap(constant CapArguments &arguments [[buffer(0)]],
                     device float *x [[buffer(1)]],
                     uint quad [[thread_position_in_grid]]) {
    const uint start = quad * 4;
    const float4 value = load4(x, start, arguments.count);
    store4(x, start, arguments.count, arguments.cap * precise::tanh(value / arguments.cap));
}
