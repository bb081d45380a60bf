/* What a program and its shaders share: one header, compiled by both. */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include <simd/simd.h>

typedef struct {
    simd_float3 position;
    float weight;
    vector_uint2 cell;
    simd_half4 shade;
    simd_float4x3 pose;
    matrix_float2x2 turn;
    simd_short3 code;
    simd_uchar4 colour;
    packed_float4 rest;
    simd_long2 big;
    simd_half3x2 small;
    unsigned char last;
} shared_values;

/* Calls M(MEMBER) for each. */
#define FOR_ALL_MEMBERS(M) \
    M(position) M(weight) M(cell) M(shade) M(pose) M(turn) M(code) M(colour) M(rest) M(big) M(small) M(last)

/* For each member its offset and its bytes, and then the bytes of the whole. */
enum {
    MEMBERS = 12,
    NUMBERS = 2 * MEMBERS + 1
};

#endif
