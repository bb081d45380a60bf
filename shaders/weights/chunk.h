// What a format of weights gives kernels: 16 elements of a row as vectors, or many as floats.
#ifndef METAL_BRIDGE_WEIGHTS_CHUNK_H
#define METAL_BRIDGE_WEIGHTS_CHUNK_H

#include <metal_stdlib>

using namespace metal;

constant constexpr uint chunk_elements = 16;

// The elements are v * scale: a product with activations scales its sum, not each term.
struct Chunk {
    float4 v[4];
    float scale;

    float4 scaled(uint i) const { return v[i] * scale; }
};

// The same elements as whole numbers: number * scale + offset.
struct IntegerChunk {
    int4 v[4];
    float scale;
    float offset;
};

// Formats with blocks have blocks of so many elements, or of a multiple.
constant constexpr uint block_elements = 32;

// A loop over elements that lie side by side, as vectors. Unrolled ones are often left as scalars.
#define UNPACK_LOOP _Pragma("clang loop vectorize(assume_safety) unroll(disable)")

// The same over the elements of a chunk, which become one vector: of 16 bits each they fill no more than 32 bytes.
#define CHUNK_LOOP \
    _Pragma("clang loop vectorize(assume_safety) vectorize_width(16) interleave_count(1) unroll(disable)")

#endif
