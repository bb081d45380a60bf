/* simd_make_float4(x, y, z, w) and its like: vectors of components and of shorter vectors, and of longer ones, which
 * are cut off. */
#ifndef SMTL_SIMD_VECTOR_MAKE_H
#define SMTL_SIMD_VECTOR_MAKE_H

#include <simd/vector_types.h>

/* What is not named is 0. */
#define SMTL_SIMD_MAKE(T, S)                                                                                      \
    SMTL_SIMD_FUNCTION simd_##T##2 simd_make_##T##2(S x, S y) { return (simd_##T##2){x, y}; }                     \
    SMTL_SIMD_FUNCTION simd_##T##2 simd_make_##T##2(S x) { return (simd_##T##2){x, 0}; }                          \
    SMTL_SIMD_FUNCTION simd_##T##2 simd_make_##T##2(simd_##T##2 v) { return v; }                                  \
    SMTL_SIMD_FUNCTION simd_##T##2 simd_make_##T##2(simd_##T##3 v) { return v.xy; }                               \
    SMTL_SIMD_FUNCTION simd_##T##2 simd_make_##T##2(simd_##T##4 v) { return v.xy; }                               \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_make_##T##3(S x, S y, S z) { return (simd_##T##3){x, y, z}; }             \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_make_##T##3(S x, simd_##T##2 yz) { return (simd_##T##3){x, yz.x, yz.y}; } \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_make_##T##3(simd_##T##2 xy, S z) { return (simd_##T##3){xy.x, xy.y, z}; } \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_make_##T##3(S x) { return (simd_##T##3){x, 0, 0}; }                       \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_make_##T##3(simd_##T##2 v) { return (simd_##T##3){v.x, v.y, 0}; }         \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_make_##T##3(simd_##T##3 v) { return v; }                                  \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_make_##T##3(simd_##T##4 v) { return v.xyz; }                              \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(S x, S y, S z, S w) { return (simd_##T##4){x, y, z, w}; }     \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(S x, S y, simd_##T##2 zw) {                                   \
        return (simd_##T##4){x, y, zw.x, zw.y};                                                                   \
    }                                                                                                             \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(S x, simd_##T##2 yz, S w) {                                   \
        return (simd_##T##4){x, yz.x, yz.y, w};                                                                   \
    }                                                                                                             \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(S x, simd_##T##3 yzw) {                                       \
        return (simd_##T##4){x, yzw.x, yzw.y, yzw.z};                                                             \
    }                                                                                                             \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(simd_##T##2 xy, S z, S w) {                                   \
        return (simd_##T##4){xy.x, xy.y, z, w};                                                                   \
    }                                                                                                             \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(simd_##T##2 xy, simd_##T##2 zw) {                             \
        return (simd_##T##4){xy.x, xy.y, zw.x, zw.y};                                                             \
    }                                                                                                             \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(simd_##T##3 xyz, S w) {                                       \
        return (simd_##T##4){xyz.x, xyz.y, xyz.z, w};                                                             \
    }                                                                                                             \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(S x) { return (simd_##T##4){x, 0, 0, 0}; }                    \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(simd_##T##2 v) { return (simd_##T##4){v.x, v.y, 0, 0}; }      \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(simd_##T##3 v) { return (simd_##T##4){v.x, v.y, v.z, 0}; }    \
    SMTL_SIMD_FUNCTION simd_##T##4 simd_make_##T##4(simd_##T##4 v) { return v; }

SMTL_SIMD_MAKE(char, char)
SMTL_SIMD_MAKE(uchar, unsigned char)
SMTL_SIMD_MAKE(short, short)
SMTL_SIMD_MAKE(ushort, unsigned short)
SMTL_SIMD_MAKE(int, int)
SMTL_SIMD_MAKE(uint, unsigned int)
SMTL_SIMD_MAKE(long, long)
SMTL_SIMD_MAKE(ulong, unsigned long)
SMTL_SIMD_MAKE(half, _Float16)
SMTL_SIMD_MAKE(float, float)
SMTL_SIMD_MAKE(double, double)
#undef SMTL_SIMD_MAKE

/* The longer ones, of two halves. */
#define SMTL_SIMD_MAKE_LONG(T, N, HALF)                                                     \
    SMTL_SIMD_FUNCTION simd_##T##N simd_make_##T##N(simd_##T##HALF lo, simd_##T##HALF hi) { \
        simd_##T##N v;                                                                      \
        v.lo = lo;                                                                          \
        v.hi = hi;                                                                          \
        return v;                                                                           \
    }                                                                                       \
    SMTL_SIMD_FUNCTION simd_##T##N simd_make_##T##N(simd_##T##N v) { return v; }
#define SMTL_SIMD_MAKE_TO_16(T)  \
    SMTL_SIMD_MAKE_LONG(T, 8, 4) \
    SMTL_SIMD_MAKE_LONG(T, 16, 8)
#define SMTL_SIMD_MAKE_TO_32(T) \
    SMTL_SIMD_MAKE_TO_16(T)     \
    SMTL_SIMD_MAKE_LONG(T, 32, 16)
#define SMTL_SIMD_MAKE_TO_64(T) \
    SMTL_SIMD_MAKE_TO_32(T)     \
    SMTL_SIMD_MAKE_LONG(T, 64, 32)
SMTL_SIMD_MAKE_TO_64(char)
SMTL_SIMD_MAKE_TO_64(uchar)
SMTL_SIMD_MAKE_TO_32(short)
SMTL_SIMD_MAKE_TO_32(ushort)
SMTL_SIMD_MAKE_TO_32(half)
SMTL_SIMD_MAKE_TO_16(int)
SMTL_SIMD_MAKE_TO_16(uint)
SMTL_SIMD_MAKE_TO_16(float)
SMTL_SIMD_MAKE_LONG(long, 8, 4)
SMTL_SIMD_MAKE_LONG(ulong, 8, 4)
SMTL_SIMD_MAKE_LONG(double, 8, 4)
#undef SMTL_SIMD_MAKE_LONG
#undef SMTL_SIMD_MAKE_TO_16
#undef SMTL_SIMD_MAKE_TO_32
#undef SMTL_SIMD_MAKE_TO_64

#endif
