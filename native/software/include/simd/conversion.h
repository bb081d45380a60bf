/* simd_float(v) and its like: component by component, as the language converts numbers. */
#ifndef SMTL_SIMD_CONVERSION_H
#define SMTL_SIMD_CONVERSION_H

#include <simd/vector_types.h>

#define SMTL_SIMD_TO(TO, FROM, L) \
    SMTL_SIMD_FUNCTION simd_##TO##L simd_##TO(simd_##FROM##L v) { return __builtin_convertvector(v, simd_##TO##L); }
#define SMTL_SIMD_FROM_ALL(TO, L) \
    SMTL_SIMD_TO(TO, char, L)     \
    SMTL_SIMD_TO(TO, uchar, L)    \
    SMTL_SIMD_TO(TO, short, L)    \
    SMTL_SIMD_TO(TO, ushort, L)   \
    SMTL_SIMD_TO(TO, int, L)      \
    SMTL_SIMD_TO(TO, uint, L)     \
    SMTL_SIMD_TO(TO, long, L)     \
    SMTL_SIMD_TO(TO, ulong, L)    \
    SMTL_SIMD_TO(TO, half, L)     \
    SMTL_SIMD_TO(TO, float, L)    \
    SMTL_SIMD_TO(TO, double, L)
#define SMTL_SIMD_CONVERSIONS(TO) \
    SMTL_SIMD_FROM_ALL(TO, 2)     \
    SMTL_SIMD_FROM_ALL(TO, 3)     \
    SMTL_SIMD_FROM_ALL(TO, 4)     \
    SMTL_SIMD_FROM_ALL(TO, 8)

SMTL_SIMD_CONVERSIONS(char)
SMTL_SIMD_CONVERSIONS(uchar)
SMTL_SIMD_CONVERSIONS(short)
SMTL_SIMD_CONVERSIONS(ushort)
SMTL_SIMD_CONVERSIONS(int)
SMTL_SIMD_CONVERSIONS(uint)
SMTL_SIMD_CONVERSIONS(long)
SMTL_SIMD_CONVERSIONS(ulong)
SMTL_SIMD_CONVERSIONS(half)
SMTL_SIMD_CONVERSIONS(float)
SMTL_SIMD_CONVERSIONS(double)
#undef SMTL_SIMD_TO
#undef SMTL_SIMD_FROM_ALL
#undef SMTL_SIMD_CONVERSIONS

#endif
