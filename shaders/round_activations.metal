// Rows of activations rounded to 8 bits in blocks of 32: element = number * scale, the numbers from -127 to 127.
#include "rounded.h"

constant constexpr float most = 127.0f;
// The bits of 2^-119: blocks of elements that are all smaller become zeros, since their scale or its inverse would not
// be a normal float.
constant constexpr uint smallest_bits = 8u << 23;
constant constexpr uint infinity_bits = 0x7f800000u;

struct RoundArguments {
    uint k;
};

// A thread a block. The scale of a block with an element that is not finite is NaN, and its numbers are zeros.
kernel void round_activations(constant RoundArguments &arguments [[buffer(0)]],
                              device const float *x [[buffer(1)]],
                              device uchar *rounded [[buffer(2)]],
                              uint2 position [[thread_position_in_grid]]) {
    const uint k = arguments.k;
    const uint block = position.x;
    const ulong blocks = k / rounded_block_elements;
    constexpr uint parts = rounded_block_elements / rounded_sum_elements;
    device const float *from = x + (position.y * blocks + block) * rounded_block_elements;
    device uchar *row = rounded + position.y * blocks * rounded_block_bytes;
    device char *numbers = (device char *)row + block * rounded_block_elements;
    device float *scale = (device float *)(row + k) + block;
    device float *sums = (device float *)(row + k) + blocks + block * parts;

    // As bits, magnitudes order as the floats do, and NaN comes after infinity.
    uint largest = 0;
    for (uint i = 0; i < rounded_block_elements; i++) {
        largest = max(largest, as_type<uint>(from[i]) & 0x7fffffffu);
    }
    const bool is_finite = largest < infinity_bits;
    const bool has_numbers = is_finite && largest >= smallest_bits;
    const float magnitude = has_numbers ? as_type<float>(largest) : most;
    const float own_scale = is_finite ? (has_numbers ? magnitude / most : 0.0f) : as_type<float>(0x7fc00000u);
    const float inverse = most / magnitude;
    *scale = own_scale;
    for (uint part = 0; part < parts; part++) {
        int sum = 0;
        for (uint i = 0; i < rounded_sum_elements; i++) {
            const uint at = part * rounded_sum_elements + i;
            const int number = has_numbers ? int(rint(from[at] * inverse)) : 0;
            numbers[at] = char(number);
            sum += number;
        }
        sums[part] = own_scale * float(sum);
    }
}
