// Weight matrices as kernels read them: [rows, k] row-major in GGUF layout, 16 elements at a time.
//
// A format is a type with
//   row_bytes(k)        bytes from one row to the next
//   first(chunk)        where the chunk's elements 0..7 lie in the row; elements 8..15 lie `second` further on
//   load(row, chunk)    those 16 elements
//   ragged              whether a row may end inside a chunk; then load_tail(row, chunk, count) reads `count` elements
//                       and gives zeros for the rest
//
// Loads go through packed vector types: four elements wide whatever the alignment of the row.
#ifndef METAL_BRIDGE_WEIGHTS_H
#define METAL_BRIDGE_WEIGHTS_H

#include <metal_stdlib>

using namespace metal;

constant constexpr uint chunk_elements = 16;

// The elements are v * scale: a product with activations scales its sum, not each term.
struct Chunk {
    float4 v[4];
    float scale;

    float4 scaled(uint i) const { return v[i] * scale; }
};

// The elements that share a scale in a quantized format, as scalars: element i of the block is low[i], element 16 + i
// high[i].
constant constexpr uint block_elements = 32;
constant constexpr uint half_block = block_elements / 2;
struct Block {
    float low[half_block];
    float high[half_block];
    float scale;
};

// Element `index` of `count`, zero past the last.
template <typename T> inline float element_or_zero(device const T *source, uint index, uint count) {
    return index < count ? float(source[index]) : 0.0f;
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

struct F32 {
    enum : uint {
        ragged = 1,
        second = 8
    };
    static ulong row_bytes(uint k) { return ulong(k) * 4; }
    static uint first(uint chunk) { return chunk * chunk_elements; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const packed_float4 *source = (device const packed_float4 *)row + chunk * 4;
        Chunk result;
        result.scale = 1.0f;
        for (uint i = 0; i < 4; i++) result.v[i] = float4(source[i]);
        return result;
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint count) {
        return load_some((device const float *)row + chunk * chunk_elements, count);
    }
};

struct F16 {
    enum : uint {
        ragged = 1,
        second = 8
    };
    static ulong row_bytes(uint k) { return ulong(k) * 2; }
    static uint first(uint chunk) { return chunk * chunk_elements; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const packed_half4 *source = (device const packed_half4 *)row + chunk * 4;
        Chunk result;
        result.scale = 1.0f;
        for (uint i = 0; i < 4; i++) result.v[i] = float4(half4(source[i]));
        return result;
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint count) {
        return load_some((device const half *)row + chunk * chunk_elements, count);
    }
};

// 32 elements: a half scale, then 32 signed bytes.
struct Q8_0 {
    enum : uint {
        ragged = 0,
        second = 8,
        block_bytes = 34
    };
    static ulong row_bytes(uint k) { return ulong(k / 32) * block_bytes; }
    static uint first(uint chunk) { return chunk * chunk_elements; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const uchar *block = row + (chunk / 2) * block_bytes;
        device const packed_char4 *quants = (device const packed_char4 *)(block + 2 + (chunk % 2) * 16);
        Chunk result;
        result.scale = float(*(device const half *)block);
        for (uint i = 0; i < 4; i++) result.v[i] = float4(char4(quants[i]));
        return result;
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint) { return load(row, chunk); }
    static Block load_block(device const uchar *row, uint index) {
        device const uchar *block = row + index * block_bytes;
        device const char *quants = (device const char *)(block + 2);
        Block result;
        result.scale = float(*(device const half *)block);
        for (uint i = 0; i < half_block; i++) {
            result.low[i] = float(quants[i]);
            result.high[i] = float(quants[i + half_block]);
        }
        return result;
    }
};

// 32 elements: a half scale, then 16 bytes whose low nibbles are elements 0 to 15 and high nibbles 16 to 31, each
// plus 8. A chunk takes 8 of the bytes, so that no byte is read twice.
struct Q4_0 {
    enum : uint {
        ragged = 0,
        second = 16,
        block_bytes = 18
    };
    static ulong row_bytes(uint k) { return ulong(k / 32) * block_bytes; }
    static uint first(uint chunk) { return (chunk / 2) * 32 + (chunk % 2) * 8; }
    static Chunk load(device const uchar *row, uint chunk) {
        device const uchar *block = row + (chunk / 2) * block_bytes;
        device const packed_uchar4 *quants = (device const packed_uchar4 *)(block + 2 + (chunk % 2) * 8);
        Chunk result;
        result.scale = float(*(device const half *)block);
        for (uint i = 0; i < 2; i++) {
            const uint4 pair = uint4(uchar4(quants[i]));
            result.v[i] = float4(pair & uint4(15)) - 8.0f;
            result.v[i + 2] = float4(pair >> uint4(4)) - 8.0f;
        }
        return result;
    }
    static Chunk load_tail(device const uchar *row, uint chunk, uint) { return load(row, chunk); }
    static Block load_block(device const uchar *row, uint index) {
        device const uchar *block = row + index * block_bytes;
        device const uchar *quants = block + 2;
        Block result;
        result.scale = float(*(device const half *)block);
        for (uint i = 0; i < half_block; i++) {
            result.low[i] = float(int(quants[i] & 15) - 8);
            result.high[i] = float(int(quants[i] >> 4) - 8);
        }
        return result;
    }
};

// The activations that chunk `chunk` of a weight row of format W meets.
template <typename W> inline Chunk load_activations(device const float *x, uint chunk) {
    device const packed_float4 *low = (device const packed_float4 *)(x + W::first(chunk));
    device const packed_float4 *high = (device const packed_float4 *)(x + W::first(chunk) + W::second);
    Chunk result;
    result.scale = 1.0f;
    result.v[0] = float4(low[0]);
    result.v[1] = float4(low[1]);
    result.v[2] = float4(high[0]);
    result.v[3] = float4(high[1]);
    return result;
}

// sum + weights * activations, element by element of float4.
inline float4 multiply_add(Chunk weights, Chunk activations, float4 sum) {
    float4 products = weights.v[0] * activations.v[0];
    for (uint i = 1; i < 4; i++) products = fma(weights.v[i], activations.v[i], products);
    return fma(products, float4(weights.scale), sum);
}

#endif
