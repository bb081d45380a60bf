// <metal_pack>: normalised integers in one word.
#pragma once

#include "common.h"

namespace metal {
namespace smtl_detail {

// Components of `Bits` bits each, the first one lowest.
template <int Bits, int N> SMTL_FUNCTION uint pack_unorm(vec<float, N> value) {
    const vec<uint, N> scaled(rint(saturate(value) * float((1u << Bits) - 1)));
    uint word = 0;
    for (int i = 0; i < N; ++i) word |= scaled.native[i] << (Bits * i);
    return word;
}
template <int Bits, int N> SMTL_FUNCTION uint pack_snorm(vec<float, N> value) {
    // NaN becomes 0, which clamp would make one of the bounds.
    const vec<float, N> number(vec<float, N>::from_native, value.native == value.native ? value.native : 0.0f);
    const vec<int, N> scaled(
        rint(clamp(number, vec<float, N>(-1.0f), vec<float, N>(1.0f)) * float((1u << (Bits - 1)) - 1)));
    uint word = 0;
    for (int i = 0; i < N; ++i) word |= (uint(scaled.native[i]) & ((1u << Bits) - 1)) << (Bits * i);
    return word;
}
template <int Bits, int N> SMTL_FUNCTION vec<float, N> unpack_unorm(uint word) {
    vec<float, N> value;
    for (int i = 0; i < N; ++i)
        value.native[i] = float(word >> (Bits * i) & ((1u << Bits) - 1)) / float((1u << Bits) - 1);
    return value;
}
template <int Bits, int N> SMTL_FUNCTION vec<float, N> unpack_snorm(uint word) {
    vec<float, N> value;
    for (int i = 0; i < N; ++i) {
        const int component = int(word << (32 - Bits * (i + 1))) >> (32 - Bits);
        value.native[i] = __builtin_fmaxf(float(component) / float((1u << (Bits - 1)) - 1), -1.0f);
    }
    return value;
}

SMTL_FUNCTION float to_srgb(float x) {
    return x <= 0.0031308f ? 12.92f * x : 1.055f * __builtin_powf(x, 1.0f / 2.4f) - 0.055f;
}
SMTL_FUNCTION float from_srgb(float x) {
    return x <= 0.04045f ? x / 12.92f : __builtin_powf((x + 0.055f) / 1.055f, 2.4f);
}

}  // namespace smtl_detail

SMTL_FUNCTION uint pack_float_to_unorm4x8(float4 value) { return smtl_detail::pack_unorm<8>(value); }
SMTL_FUNCTION uint pack_float_to_snorm4x8(float4 value) { return smtl_detail::pack_snorm<8>(value); }
SMTL_FUNCTION uint pack_float_to_unorm2x16(float2 value) { return smtl_detail::pack_unorm<16>(value); }
SMTL_FUNCTION uint pack_float_to_snorm2x16(float2 value) { return smtl_detail::pack_snorm<16>(value); }
SMTL_FUNCTION uint pack_half_to_unorm4x8(half4 value) { return smtl_detail::pack_unorm<8>(float4(value)); }
SMTL_FUNCTION uint pack_half_to_snorm4x8(half4 value) { return smtl_detail::pack_snorm<8>(float4(value)); }
SMTL_FUNCTION uint pack_half_to_unorm2x16(half2 value) { return smtl_detail::pack_unorm<16>(float2(value)); }
SMTL_FUNCTION uint pack_half_to_snorm2x16(half2 value) { return smtl_detail::pack_snorm<16>(float2(value)); }
SMTL_FUNCTION float4 unpack_unorm4x8_to_float(uint word) { return smtl_detail::unpack_unorm<8, 4>(word); }
SMTL_FUNCTION float4 unpack_snorm4x8_to_float(uint word) { return smtl_detail::unpack_snorm<8, 4>(word); }
SMTL_FUNCTION float2 unpack_unorm2x16_to_float(uint word) { return smtl_detail::unpack_unorm<16, 2>(word); }
SMTL_FUNCTION float2 unpack_snorm2x16_to_float(uint word) { return smtl_detail::unpack_snorm<16, 2>(word); }
SMTL_FUNCTION half4 unpack_unorm4x8_to_half(uint word) { return half4(smtl_detail::unpack_unorm<8, 4>(word)); }
SMTL_FUNCTION half4 unpack_snorm4x8_to_half(uint word) { return half4(smtl_detail::unpack_snorm<8, 4>(word)); }
SMTL_FUNCTION half2 unpack_unorm2x16_to_half(uint word) { return half2(smtl_detail::unpack_unorm<16, 2>(word)); }
SMTL_FUNCTION half2 unpack_snorm2x16_to_half(uint word) { return half2(smtl_detail::unpack_snorm<16, 2>(word)); }

SMTL_FUNCTION uint pack_float_to_unorm10a2(float4 value) {
    return smtl_detail::pack_unorm<10>(value.xyz) | smtl_detail::pack_unorm<2>(value.wz) % 4 << 30;
}
SMTL_FUNCTION ushort pack_float_to_unorm565(float3 value) {
    const uint3 scaled(rint(saturate(value) * float3(31.0f, 63.0f, 31.0f)));
    return ushort(scaled.x | scaled.y << 5 | scaled.z << 11);
}
SMTL_FUNCTION float4 unpack_unorm10a2_to_float(uint word) {
    return float4(smtl_detail::unpack_unorm<10, 3>(word), float(word >> 30) / 3.0f);
}
SMTL_FUNCTION float3 unpack_unorm565_to_float(ushort word) {
    return float3(float(word & 31), float(word >> 5 & 63), float(word >> 11)) / float3(31.0f, 63.0f, 31.0f);
}

// The colour through the transfer curve of sRGB, the last component as it is.
SMTL_FUNCTION uint pack_float_to_srgb_unorm4x8(float4 value) {
    const float4 bounded = saturate(value);
    return smtl_detail::pack_unorm<8>(float4(smtl_detail::to_srgb(bounded.x), smtl_detail::to_srgb(bounded.y),
                                             smtl_detail::to_srgb(bounded.z), bounded.w));
}
SMTL_FUNCTION float4 unpack_unorm4x8_srgb_to_float(uint word) {
    const float4 value = smtl_detail::unpack_unorm<8, 4>(word);
    return float4(smtl_detail::from_srgb(value.x), smtl_detail::from_srgb(value.y), smtl_detail::from_srgb(value.z),
                  value.w);
}

SMTL_FUNCTION uint pack_half_to_unorm10a2(half4 value) { return pack_float_to_unorm10a2(float4(value)); }
SMTL_FUNCTION ushort pack_half_to_unorm565(half3 value) { return pack_float_to_unorm565(float3(value)); }
SMTL_FUNCTION uint pack_half_to_srgb_unorm4x8(half4 value) { return pack_float_to_srgb_unorm4x8(float4(value)); }
SMTL_FUNCTION half4 unpack_unorm10a2_to_half(uint word) { return half4(unpack_unorm10a2_to_float(word)); }
SMTL_FUNCTION half3 unpack_unorm565_to_half(ushort word) { return half3(unpack_unorm565_to_float(word)); }
SMTL_FUNCTION half4 unpack_unorm4x8_srgb_to_half(uint word) { return half4(unpack_unorm4x8_srgb_to_float(word)); }

}  // namespace metal
