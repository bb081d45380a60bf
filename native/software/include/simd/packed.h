/* Vectors that are aligned as their components are, for data that was not made for vectors. */
#ifndef SMTL_SIMD_PACKED_H
#define SMTL_SIMD_PACKED_H

#include <simd/vector_types.h>

/* A vector of three takes the room of four: there is none of those. */
#define SMTL_SIMD_PACKED(NAME, SCALAR, LANES, MASK)                                                             \
    typedef SCALAR simd_packed_##NAME __attribute__((__ext_vector_type__(LANES), __aligned__(sizeof(SCALAR)))); \
    typedef simd_packed_##NAME packed_##NAME;
SMTL_SIMD_INTEGERS(SMTL_SIMD_PACKED, 2)
SMTL_SIMD_INTEGERS(SMTL_SIMD_PACKED, 4)
SMTL_SIMD_FLOATS(SMTL_SIMD_PACKED, 2)
SMTL_SIMD_FLOATS(SMTL_SIMD_PACKED, 4)
#undef SMTL_SIMD_PACKED

#endif
