// Activations rounded to 8 bits. A row of k elements takes 44 bytes for each block of 32: first the whole numbers of
// all blocks, a byte each, then a scale for each block, then for each 16 elements the sum of their numbers, times their
// scale, for weights with offsets.
#ifndef METAL_BRIDGE_ROUNDED_H
#define METAL_BRIDGE_ROUNDED_H

#include <metal_stdlib>

using namespace metal;

constant constexpr uint rounded_block_bytes = 44;
constant constexpr uint rounded_block_elements = 32;
// Elements that have a sum.
constant constexpr uint rounded_sum_elements = 16;

struct RoundedRow {
    device const char *numbers;
    device const float *scales;
    device const float *sums;
};

inline RoundedRow rounded_row(device const uchar *x, uint row, uint k) {
    const ulong blocks = k / rounded_block_elements;
    device const uchar *start = x + row * blocks * rounded_block_bytes;
    RoundedRow result;
    result.numbers = (device const char *)start;
    result.scales = (device const float *)(start + k);
    result.sums = result.scales + blocks;
    return result;
}

#endif
