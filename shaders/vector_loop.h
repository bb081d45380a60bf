// Loops that compilers for devices which run lanes in turn should make vectors of.
#ifndef METAL_BRIDGE_VECTOR_LOOP_H
#define METAL_BRIDGE_VECTOR_LOOP_H

// The loop after it runs over `width` elements, a constant, which lie side by side, and becomes one vector. The
// compiler then knows each index, so that what is computed and used in the same block stays in registers. Unrolled
// loops are often left as scalars.
#define ONE_VECTOR(width) \
    VECTOR_LOOP_PRAGMA(clang loop vectorize(assume_safety) vectorize_width(width) interleave_count(1) unroll(disable))
#define VECTOR_LOOP_PRAGMA(text) _Pragma(#text)

#endif
