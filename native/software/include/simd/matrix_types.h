/* simd_float4x3 and its like: columns, here four of three rows, each a vector. The layout is the shading language's. */
#ifndef SMTL_SIMD_MATRIX_TYPES_H
#define SMTL_SIMD_MATRIX_TYPES_H

#include <simd/vector_types.h>

/* Calls M(SCALAR, C, R) for every number of columns and rows. */
#define SMTL_SIMD_SHAPES(M, T) \
    M(T, 2, 2)                 \
    M(T, 2, 3)                 \
    M(T, 2, 4)                 \
    M(T, 3, 2)                 \
    M(T, 3, 3)                 \
    M(T, 3, 4)                 \
    M(T, 4, 2)                 \
    M(T, 4, 3)                 \
    M(T, 4, 4)
#define SMTL_SIMD_ALL_MATRICES(M) \
    SMTL_SIMD_SHAPES(M, half)     \
    SMTL_SIMD_SHAPES(M, float)    \
    SMTL_SIMD_SHAPES(M, double)

#define SMTL_SIMD_MATRIX(T, C, R) \
    typedef struct {              \
        simd_##T##R columns[C];   \
    } simd_##T##C##x##R;          \
    typedef simd_##T##C##x##R matrix_##T##C##x##R;
SMTL_SIMD_ALL_MATRICES(SMTL_SIMD_MATRIX)
#undef SMTL_SIMD_MATRIX

#endif
