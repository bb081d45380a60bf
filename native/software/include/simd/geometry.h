/* Vectors as arrows and points. */
#ifndef SMTL_SIMD_GEOMETRY_H
#define SMTL_SIMD_GEOMETRY_H

#include <simd/common.h>

#define SMTL_SIMD_GEOMETRY(NAME, SCALAR, LANES, MASK)                                                    \
    SMTL_SIMD_FUNCTION SCALAR simd_dot(simd_##NAME x, simd_##NAME y) { return simd_reduce_add(x * y); }  \
    SMTL_SIMD_FUNCTION SCALAR simd_length_squared(simd_##NAME x) { return simd_dot(x, x); }              \
    SMTL_SIMD_FUNCTION SCALAR simd_length(simd_##NAME x) {                                               \
        return (SCALAR)__builtin_sqrt((double)simd_length_squared(x));                                   \
    }                                                                                                    \
    SMTL_SIMD_FUNCTION SCALAR simd_distance_squared(simd_##NAME x, simd_##NAME y) {                      \
        return simd_length_squared(x - y);                                                               \
    }                                                                                                    \
    SMTL_SIMD_FUNCTION SCALAR simd_distance(simd_##NAME x, simd_##NAME y) { return simd_length(x - y); } \
    SMTL_SIMD_FUNCTION SCALAR simd_norm_one(simd_##NAME x) { return simd_reduce_add(simd_abs(x)); }      \
    SMTL_SIMD_FUNCTION SCALAR simd_norm_inf(simd_##NAME x) { return simd_reduce_max(simd_abs(x)); }      \
    SMTL_SIMD_FUNCTION simd_##NAME simd_normalize(simd_##NAME x) { return x / simd_length(x); }          \
    SMTL_SIMD_FUNCTION simd_##NAME simd_project(simd_##NAME x, simd_##NAME y) {                          \
        return y * (simd_dot(x, y) / simd_dot(y, y));                                                    \
    }                                                                                                    \
    SMTL_SIMD_FUNCTION simd_##NAME simd_reflect(simd_##NAME x, simd_##NAME normal) {                     \
        return x - (SCALAR)2 * simd_dot(x, normal) * normal;                                             \
    }                                                                                                    \
    SMTL_SIMD_FUNCTION simd_##NAME simd_refract(simd_##NAME x, simd_##NAME normal, SCALAR ratio) {       \
        const SCALAR cosine = simd_dot(x, normal);                                                       \
        const SCALAR k = (SCALAR)1 - ratio * ratio * ((SCALAR)1 - cosine * cosine);                      \
        const simd_##NAME zero = 0;                                                                      \
        return k < 0 ? zero : ratio * x - (ratio * cosine + (SCALAR)__builtin_sqrt((double)k)) * normal; \
    }
SMTL_SIMD_ALL_FLOATS(SMTL_SIMD_GEOMETRY)
#undef SMTL_SIMD_GEOMETRY

/* If the vectors lie in the plane, only the third component is not 0. */
#define SMTL_SIMD_CROSS(T)                                                                                            \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_cross(simd_##T##3 x, simd_##T##3 y) { return x.yzx * y.zxy - x.zxy * y.yzx; } \
    SMTL_SIMD_FUNCTION simd_##T##3 simd_cross(simd_##T##2 x, simd_##T##2 y) {                                         \
        return (simd_##T##3){0, 0, x.x * y.y - x.y * y.x};                                                            \
    }
SMTL_SIMD_CROSS(half)
SMTL_SIMD_CROSS(float)
SMTL_SIMD_CROSS(double)
#undef SMTL_SIMD_CROSS

#define simd_precise_length simd_length
#define simd_fast_length simd_length
#define simd_precise_distance simd_distance
#define simd_fast_distance simd_distance
#define simd_precise_normalize simd_normalize
#define simd_fast_normalize simd_normalize
#define simd_precise_project simd_project
#define simd_fast_project simd_project

/* The older names. */
#define vector_abs simd_abs
#define vector_all simd_all
#define vector_any simd_any
#define vector_clamp simd_clamp
#define vector_cross simd_cross
#define vector_distance simd_distance
#define vector_distance_squared simd_distance_squared
#define vector_dot simd_dot
#define vector_fract simd_fract
#define vector_length simd_length
#define vector_length_squared simd_length_squared
#define vector_max simd_max
#define vector_min simd_min
#define vector_mix simd_mix
#define vector_normalize simd_normalize
#define vector_project simd_project
#define vector_recip simd_recip
#define vector_reduce_add simd_reduce_add
#define vector_reduce_max simd_reduce_max
#define vector_reduce_min simd_reduce_min
#define vector_reflect simd_reflect
#define vector_refract simd_refract
#define vector_rsqrt simd_rsqrt
#define vector_select simd_select
#define vector_sign simd_sign
#define vector_smoothstep simd_smoothstep
#define vector_step simd_step

#endif
