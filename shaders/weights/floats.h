// Weights that are floats: f32, f16, bf16.
#ifndef METAL_BRIDGE_WEIGHTS_FLOATS_H
#define METAL_BRIDGE_WEIGHTS_FLOATS_H

#include "chunk.h"

// A bf16 is the upper half of a float. Its bits are loaded, since older versions of the language have no bfloat.
inline float widen(float value) { return value; }
inline float widen(half value) { return float(value); }
inline float widen(ushort bits) { return as_type<float>(uint(bits) << 16); }
inline float4 widen(packed_float4 values) { return float4(values); }
inline float4 widen(packed_half4 values) { return float4(half4(values)); }
inline float4 widen(packed_ushort4 bits) { return as_type<float4>(uint4(ushort4(bits)) << 16); }

// Element `index` of `count`, zero past the last.
template <typename T> inline float element_or_zero(device const T *source, uint index, uint count) {
    return index < count ? widen(source[index]) : 0.0f;
}

// `count` (0 to 16) consecutive elements, zeros behind them.
template <typename T> inline Chunk load_some(device const T *source, uint count) {
    Chunk chunk;
    chunk.scale = 1.0f;
    for (uint i = 0; i < 4; i++) {
        chunk.v[i] = float4(element_or_zero(source, 4 * i, count), element_or_zero(source, 4 * i + 1, count),
                            element_or_zero(source, 4 * i + 2, count), element_or_zero(source, 4 * i + 3, count));
    }
    return chunk;
}

template <typename T, typename Packed4> struct Floats {
    enum : uint {
        ragged = 1,
        step = 512,
        second = 8
    };
    static ulong row_bytes(uint k) { return ulong(k) * sizeof(T); }
    static uint first(uint chunk) { return chunk * chunk_elements; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const Packed4 *source = (device const Packed4 *)row + chunk * 4;
        Chunk result;
        result.scale = 1.0f;
        for (uint i = 0; i < 4; i++) result.v[i] = widen(source[i]);
        return result;
    }
    typedef device const T *Elements;
    static Elements elements(device const uchar *row, uint first, uint, thread float *) {
        return (device const T *)row + first;
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint count) {
        return load_some((device const T *)row + chunk * chunk_elements, count);
    }
};

typedef Floats<float, packed_float4> F32;
typedef Floats<half, packed_half4> F16;
typedef Floats<ushort, packed_ushort4> BF16;

#endif
