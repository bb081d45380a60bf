// Floats by their bits: what fast math, which may assume that there are no NaNs, does not touch.
#ifndef METAL_BRIDGE_ORDER_H
#define METAL_BRIDGE_ORDER_H

#include <metal_stdlib>

using namespace metal;

inline bool4 is_nan(float4 value) { return (as_type<uint4>(value) & 0x7fffffffu) > uint4(0x7f800000u); }

// `value`, or `from` where that is NaN: for functions that lose it, such as min, max and clamp.
inline float4 keep_nan(float4 from, float4 value) { return select(value, from, is_nan(from)); }

constant constexpr uint nan_order = 0;

// Unsigned integers order as the floats do. NaN gives `nan_order`, below all others, and both zeros give the same.
inline uint ordered(float value) {
    const uint bits = as_type<uint>(value);
    const uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return nan_order;
    if (magnitude == 0) return 0x80000000u;
    return bits == magnitude ? bits | 0x80000000u : ~bits;
}

#endif
