// <simd/simd.h>: the vector and matrix types under the names that a source shares with the program that calls it.
#pragma once

#define SMTL_SIMD_TYPE(name)    \
    typedef ::name simd_##name; \
    namespace simd {            \
    typedef ::name name;        \
    }
#define SMTL_SIMD_VECTOR(name) \
    SMTL_SIMD_TYPE(name)       \
    typedef ::name vector_##name;
#define SMTL_SIMD_VECTORS(element) \
    SMTL_SIMD_VECTOR(element##2)   \
    SMTL_SIMD_VECTOR(element##3)   \
    SMTL_SIMD_VECTOR(element##4)
#define SMTL_SIMD_MATRIX(name) \
    SMTL_SIMD_TYPE(name)       \
    typedef ::name matrix_##name;
#define SMTL_SIMD_MATRICES(element) \
    SMTL_SIMD_MATRIX(element##2x2)  \
    SMTL_SIMD_MATRIX(element##2x3)  \
    SMTL_SIMD_MATRIX(element##2x4)  \
    SMTL_SIMD_MATRIX(element##3x2)  \
    SMTL_SIMD_MATRIX(element##3x3)  \
    SMTL_SIMD_MATRIX(element##3x4)  \
    SMTL_SIMD_MATRIX(element##4x2)  \
    SMTL_SIMD_MATRIX(element##4x3)  \
    SMTL_SIMD_MATRIX(element##4x4)

SMTL_SIMD_VECTORS(char)
SMTL_SIMD_VECTORS(uchar)
SMTL_SIMD_VECTORS(short)
SMTL_SIMD_VECTORS(ushort)
SMTL_SIMD_VECTORS(int)
SMTL_SIMD_VECTORS(uint)
SMTL_SIMD_VECTORS(long)
SMTL_SIMD_VECTORS(ulong)
SMTL_SIMD_VECTORS(half)
SMTL_SIMD_VECTORS(float)
SMTL_SIMD_MATRICES(half)
SMTL_SIMD_MATRICES(float)
