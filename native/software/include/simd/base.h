/* What the headers of <simd/simd.h> share. */
#ifndef SMTL_SIMD_BASE_H
#define SMTL_SIMD_BASE_H

#ifndef __clang__
#error "<simd/simd.h> needs the vector types of clang, which programs for the software Metal are compiled with"
#endif

/* Vectors of more than 16 bytes are passed in one way by code for newer processors and in another by code for older
 * ones: that does not concern functions that are always inlined, as those here are, but clang warns if they are
 * called. */
#pragma clang diagnostic ignored "-Wpsabi"

/* A function of a name that others have with other types. C++ overloads by itself. */
#ifdef __cplusplus
#define SMTL_SIMD_FUNCTION static inline __attribute__((__always_inline__, __nodebug__, __unused__))
#else
#define SMTL_SIMD_FUNCTION static inline __attribute__((__always_inline__, __nodebug__, __unused__, __overloadable__))
#endif

/* Calls M(NAME, SCALAR, LANES, MASK) for every vector of these kinds: the name is that of the type without simd_, the
 * mask what a comparison of two of them gives. */
#define SMTL_SIMD_INTEGERS(M, L)              \
    M(char##L, char, L, char##L)              \
    M(uchar##L, unsigned char, L, char##L)    \
    M(short##L, short, L, short##L)           \
    M(ushort##L, unsigned short, L, short##L) \
    M(int##L, int, L, int##L)                 \
    M(uint##L, unsigned int, L, int##L)       \
    M(long##L, long, L, long##L)              \
    M(ulong##L, unsigned long, L, long##L)
#define SMTL_SIMD_FLOATS(M, L)        \
    M(half##L, _Float16, L, short##L) \
    M(float##L, float, L, int##L)     \
    M(double##L, double, L, long##L)
#define SMTL_SIMD_ALL_INTEGERS(M)            \
    SMTL_SIMD_INTEGERS(M, 2)                 \
    SMTL_SIMD_INTEGERS(M, 3)                 \
    SMTL_SIMD_INTEGERS(M, 4)                 \
    SMTL_SIMD_INTEGERS(M, 8)                 \
    M(char16, char, 16, char16)              \
    M(uchar16, unsigned char, 16, char16)    \
    M(char32, char, 32, char32)              \
    M(uchar32, unsigned char, 32, char32)    \
    M(char64, char, 64, char64)              \
    M(uchar64, unsigned char, 64, char64)    \
    M(short16, short, 16, short16)           \
    M(ushort16, unsigned short, 16, short16) \
    M(short32, short, 32, short32)           \
    M(ushort32, unsigned short, 32, short32) \
    M(int16, int, 16, int16)                 \
    M(uint16, unsigned int, 16, int16)
#define SMTL_SIMD_ALL_FLOATS(M)      \
    SMTL_SIMD_FLOATS(M, 2)           \
    SMTL_SIMD_FLOATS(M, 3)           \
    SMTL_SIMD_FLOATS(M, 4)           \
    SMTL_SIMD_FLOATS(M, 8)           \
    M(half16, _Float16, 16, short16) \
    M(half32, _Float16, 32, short32) \
    M(float16, float, 16, int16)
#define SMTL_SIMD_ALL(M)      \
    SMTL_SIMD_ALL_INTEGERS(M) \
    SMTL_SIMD_ALL_FLOATS(M)

#endif
