// What a format of weights gives kernels: 16 elements of a row as vectors, or a block of 32 as scalars.
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

// 32 elements that follow each other, as scalars: element i is low[i] * scale, element 16 + i high[i] * scale.
constant constexpr uint block_elements = 32;
constant constexpr uint half_block = block_elements / 2;
struct Block {
    float low[half_block];
    float high[half_block];
    float scale;
};

#endif
