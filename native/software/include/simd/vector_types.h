/* simd_float4 and its like: clang's vectors, with the sizes and alignments that the shading language gives them, so
 * that a structure in a header of both sides has one layout. Arithmetic, comparisons and swizzles are the compiler's.
 */
#ifndef SMTL_SIMD_VECTOR_TYPES_H
#define SMTL_SIMD_VECTOR_TYPES_H

#include <simd/base.h>

typedef char simd_char1, vector_char1;
typedef unsigned char simd_uchar1, vector_uchar1;
typedef short simd_short1, vector_short1;
typedef unsigned short simd_ushort1, vector_ushort1;
typedef int simd_int1, vector_int1;
typedef unsigned int simd_uint1, vector_uint1;
typedef long simd_long1, vector_long1;
typedef unsigned long simd_ulong1, vector_ulong1;
typedef _Float16 simd_half1, vector_half1;
typedef float simd_float1, vector_float1;
typedef double simd_double1, vector_double1;
#ifdef __cplusplus
typedef bool simd_bool;
#else
typedef _Bool simd_bool;
#endif

#define SMTL_SIMD_VECTOR(NAME, SCALAR, LANES, MASK)                         \
    typedef SCALAR simd_##NAME __attribute__((__ext_vector_type__(LANES))); \
    typedef simd_##NAME vector_##NAME;
SMTL_SIMD_ALL(SMTL_SIMD_VECTOR)
#undef SMTL_SIMD_VECTOR

#ifdef __cplusplus
namespace simd {
typedef ::simd_char1 char1;
typedef ::simd_uchar1 uchar1;
typedef ::simd_short1 short1;
typedef ::simd_ushort1 ushort1;
typedef ::simd_int1 int1;
typedef ::simd_uint1 uint1;
typedef ::simd_long1 long1;
typedef ::simd_ulong1 ulong1;
typedef ::simd_half1 half1;
typedef ::simd_float1 float1;
typedef ::simd_double1 double1;
#define SMTL_SIMD_VECTOR(NAME, SCALAR, LANES, MASK) typedef ::simd_##NAME NAME;
SMTL_SIMD_ALL(SMTL_SIMD_VECTOR)
#undef SMTL_SIMD_VECTOR
}  // namespace simd
#endif

#endif
