// Weight matrices as kernels read them: [rows, k] row-major in GGUF layout, 16 elements at a time.
//
// A format is a type with
//   row_bytes(k)        bytes from one row to the next
//   first(chunk)        where the chunk's elements 0..7 lie in the row; elements 8..15 lie `second` further on
//   load(row, chunk)    those 16 elements
//   ragged              whether a row may end inside a chunk; then load_tail(row, chunk, count) reads `count` elements
//                       and gives zeros for the rest
//   step                elements to unpack together, whole blocks: a row that is not ragged is a multiple of them
//   elements(row, first, count, unpacked)
//                       where elements first to first + count - 1 of whole blocks are as floats: a format of floats has
//                       them in the row, others unpack them
//
// A format with blocks has for products with rounded activations
//   has_offsets         whether an element is number * scale + offset; if not, it is number * scale
//   load_integers(row, chunk)
//                       the 16 elements of `load` as whole numbers, with their scale and offset
//   integers(row, first, count, numbers, scales, offsets)
//                       the elements of `elements` as whole numbers, with a scale for each 32 and an offset for each 16
//
// Loads of several elements go through packed vector types: four elements wide whatever the alignment of the row.
#ifndef METAL_BRIDGE_WEIGHTS_H
#define METAL_BRIDGE_WEIGHTS_H

#include "weights/floats.h"
#include "weights/one_scale.h"
#include "weights/super_blocks.h"
#include "weights/unpacked.h"

// Calls `make(name, type)` for the formats with blocks, and for all. `WeightType` lists the same formats for the host.
#define EACH_BLOCK_FORMAT(make)                                                                                 \
    make(q8_0, Q8_0) make(q4_0, Q4_0) make(q4_1, Q4_1) make(q5_0, Q5_0) make(q5_1, Q5_1) make(iq4_nl, IQ4_NL)   \
        make(mxfp4, MXFP4) make(q2_k, Q2_K) make(q3_k, Q3_K) make(q4_k, Q4_K) make(q5_k, Q5_K) make(q6_k, Q6_K) \
            make(iq4_xs, IQ4_XS)
#define EACH_FORMAT(make) make(f32, F32) make(f16, F16) make(bf16, BF16) EACH_BLOCK_FORMAT(make)

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
