// Rotary position embedding (Su et al. 2021, arXiv:2104.09864): rotates pairs of a head's elements by angles that grow
// with the position. The caller gives one frequency a pair (radians a position), so that base, scaling and frequency
// factors are computed once, in double precision.
#include <metal_stdlib>

using namespace metal;

// Pairs (i, i + pairs), as GPT-NeoX has them, instead of (2i, 2i + 1).
constant bool half_split [[function_constant(0)]];

struct RopeArguments {
    uint first_position;
    uint heads;
    uint head_size;
    uint pairs;
    // What rotated elements are multiplied by.
    float magnitude;
};

// x[rows, heads, head_size] in place; row r is at position first_position + r. Grid (pairs, rows): one thread a pair in
// all heads, which share its sine and cosine.
kernel void rope(constant RopeArguments &arguments [[buffer(0)]],
                 device float *x [[buffer(1)]],
                 device const float *frequencies [[buffer(2)]],
                 uint2 position [[thread_position_in_grid]]) {
    const uint pair = position.x;
    const uint row = position.y;
    const float angle = float(arguments.first_position + row) * frequencies[pair];
    const float cosine = precise::cos(angle) * arguments.magnitude;
    const float sine = precise::sin(angle) * arguments.magnitude;
    const uint first = half_split ? pair : 2 * pair;
    const uint second = half_split ? pair + arguments.pairs : 2 * pair + 1;
    device float *head = x + ulong(row) * arguments.heads * arguments.head_size;
    for (uint h = 0; h < arguments.heads; h++, head += arguments.head_size) {
        const float a = head[first];
        const float b = head[second];
        head[first] = a * cosine - b * sine;
        head[second] = a * sine + b * cosine;
    }
}
