// What a format of weights gives kernels: 16 elements of a row as vectors, or many as floats.
#ifndef METAL_BRIDGE_WEIGHTS_CHUNK_H
#define METAL_BRIDGE_WEIGHTS_CHUNK_H

#include <metal_stdlib>

#include "../vector_loop.h"

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

#define CHUNK_LOOP ONE_VECTOR(chunk_elements)

#endif
