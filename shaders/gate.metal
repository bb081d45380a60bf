// Element by element: four at a time, the last thread takes what is left over.
#include <metal_stdlib>

using namespace metal;

// The gate of SwiGLU (Shazeer 2020, arXiv:2002.05202): silu(a) * b. Below the bound the exponential overflows and silu
// is 0. The exponential is kept finite, since fast math may not be asked to divide by infinity.
inline float4 gate(float4 a, float4 b) {
    constexpr float bound = -88.7f;
    const float4 silu = a / (1.0f + exp(-max(a, float4(bound))));
    return select(silu, float4(0.0f), a < bound) * b;
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

// y = silu(a) * b; y may be a or b.
kernel void silu_multiply(constant uint &count [[buffer(0)]],
                          device const float *a [[buffer(1)]],
                          device const float *b [[buffer(2)]],
                          device float *y [[buffer(3)]],
                          uint quad [[thread_position_in_grid]]) {
    const uint start = quad * 4;
    store4(y, start, count, gate(load4(a, start, count), load4(b, start, count)));
}
