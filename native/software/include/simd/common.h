/* Functions of each component, and of all components of one vector. */
#ifndef SMTL_SIMD_COMMON_H
#define SMTL_SIMD_COMMON_H

#include <simd/vector_types.h>

/* In a mask the sign counts, as in what a comparison gives: -1 for true. */
#define SMTL_SIMD_LOGIC(NAME, SCALAR, LANES, MASK)         \
    SMTL_SIMD_FUNCTION simd_bool simd_any(simd_##NAME v) { \
        const simd_##MASK truth = (simd_##MASK)v < 0;      \
        simd_bool found = 0;                               \
        for (int i = 0; i < LANES; i++) {                  \
            found |= truth[i] != 0;                        \
        }                                                  \
        return found;                                      \
    }                                                      \
    SMTL_SIMD_FUNCTION simd_bool simd_all(simd_##NAME v) { \
        const simd_##MASK truth = (simd_##MASK)v < 0;      \
        simd_bool found = 1;                               \
        for (int i = 0; i < LANES; i++) {                  \
            found &= truth[i] != 0;                        \
        }                                                  \
        return found;                                      \
    }
SMTL_SIMD_ALL_INTEGERS(SMTL_SIMD_LOGIC)
#undef SMTL_SIMD_LOGIC

/* y where the mask is true, x where it is false. */
#define SMTL_SIMD_SELECT(NAME, SCALAR, LANES, MASK)                                              \
    SMTL_SIMD_FUNCTION simd_##NAME simd_select(simd_##NAME x, simd_##NAME y, simd_##MASK mask) { \
        const simd_##MASK truth = mask < 0;                                                      \
        return (simd_##NAME)((truth & (simd_##MASK)y) | (~truth & (simd_##MASK)x));              \
    }
SMTL_SIMD_ALL(SMTL_SIMD_SELECT)
#undef SMTL_SIMD_SELECT

#define SMTL_SIMD_ORDER(NAME, SCALAR, LANES, MASK)                                                                    \
    SMTL_SIMD_FUNCTION simd_##NAME simd_min(simd_##NAME x, simd_##NAME y) { return __builtin_elementwise_min(x, y); } \
    SMTL_SIMD_FUNCTION simd_##NAME simd_max(simd_##NAME x, simd_##NAME y) { return __builtin_elementwise_max(x, y); } \
    SMTL_SIMD_FUNCTION simd_##NAME simd_clamp(simd_##NAME x, simd_##NAME low, simd_##NAME high) {                     \
        return simd_min(simd_max(x, low), high);                                                                      \
    }                                                                                                                 \
    SMTL_SIMD_FUNCTION SCALAR simd_reduce_add(simd_##NAME v) {                                                        \
        SCALAR sum = v[0];                                                                                            \
        for (int i = 1; i < LANES; i++) {                                                                             \
            sum = (SCALAR)(sum + v[i]);                                                                               \
        }                                                                                                             \
        return sum;                                                                                                   \
    }                                                                                                                 \
    SMTL_SIMD_FUNCTION SCALAR simd_reduce_min(simd_##NAME v) {                                                        \
        SCALAR least = v[0];                                                                                          \
        for (int i = 1; i < LANES; i++) {                                                                             \
            least = __builtin_elementwise_min(least, v[i]);                                                           \
        }                                                                                                             \
        return least;                                                                                                 \
    }                                                                                                                 \
    SMTL_SIMD_FUNCTION SCALAR simd_reduce_max(simd_##NAME v) {                                                        \
        SCALAR most = v[0];                                                                                           \
        for (int i = 1; i < LANES; i++) {                                                                             \
            most = __builtin_elementwise_max(most, v[i]);                                                             \
        }                                                                                                             \
        return most;                                                                                                  \
    }                                                                                                                 \
    SMTL_SIMD_FUNCTION simd_bool simd_equal(simd_##NAME x, simd_##NAME y) { return simd_all((simd_##MASK)(x == y)); }
SMTL_SIMD_ALL(SMTL_SIMD_ORDER)
#undef SMTL_SIMD_ORDER

/* The magnitude of the least number is itself. */
#define SMTL_SIMD_ABS(NAME, SCALAR, LANES, MASK) \
    SMTL_SIMD_FUNCTION simd_##NAME simd_abs(simd_##NAME x) { return simd_select(x, -x, (simd_##MASK)(x < 0)); }
#define SMTL_SIMD_ABS_SIGNED(L)                 \
    SMTL_SIMD_ABS(char##L, char, L, char##L)    \
    SMTL_SIMD_ABS(short##L, short, L, short##L) \
    SMTL_SIMD_ABS(int##L, int, L, int##L)       \
    SMTL_SIMD_ABS(long##L, long, L, long##L)
SMTL_SIMD_ABS_SIGNED(2)
SMTL_SIMD_ABS_SIGNED(3)
SMTL_SIMD_ABS_SIGNED(4)
SMTL_SIMD_ABS_SIGNED(8)
SMTL_SIMD_ABS(int16, int, 16, int16)
#undef SMTL_SIMD_ABS
#undef SMTL_SIMD_ABS_SIGNED

#define SMTL_SIMD_REAL(NAME, SCALAR, LANES, MASK)                                                                    \
    SMTL_SIMD_FUNCTION simd_##NAME simd_abs(simd_##NAME x) { return __builtin_elementwise_abs(x); }                  \
    SMTL_SIMD_FUNCTION simd_##NAME simd_sqrt(simd_##NAME x) {                                                        \
        for (int i = 0; i < LANES; i++) {                                                                            \
            x[i] = (SCALAR)__builtin_sqrt((double)x[i]);                                                             \
        }                                                                                                            \
        return x;                                                                                                    \
    }                                                                                                                \
    SMTL_SIMD_FUNCTION simd_##NAME simd_recip(simd_##NAME x) { return (SCALAR)1 / x; }                               \
    SMTL_SIMD_FUNCTION simd_##NAME simd_rsqrt(simd_##NAME x) { return (SCALAR)1 / simd_sqrt(x); }                    \
    SMTL_SIMD_FUNCTION simd_##NAME simd_fract(simd_##NAME x) {                                                       \
        /* Below 1, which the difference may be rounded to. */                                                       \
        const SCALAR largest = (SCALAR)(sizeof(SCALAR) == 2   ? 0x1.ffcp-1                                           \
                                        : sizeof(SCALAR) == 4 ? 0x1.fffffep-1                                        \
                                                              : 0x1.fffffffffffffp-1);                               \
        return simd_min(x - __builtin_elementwise_floor(x), (simd_##NAME)largest);                                   \
    }                                                                                                                \
    SMTL_SIMD_FUNCTION simd_##NAME simd_mix(simd_##NAME x, simd_##NAME y, simd_##NAME t) { return x + t * (y - x); } \
    SMTL_SIMD_FUNCTION simd_##NAME simd_muladd(simd_##NAME x, simd_##NAME y, simd_##NAME z) { return x * y + z; }    \
    SMTL_SIMD_FUNCTION simd_##NAME simd_sign(simd_##NAME x) {                                                        \
        const simd_##NAME zero = 0, one = 1;                                                                         \
        return simd_select(simd_select(zero, one, (simd_##MASK)(x > 0)), -one, (simd_##MASK)(x < 0));                \
    }                                                                                                                \
    SMTL_SIMD_FUNCTION simd_##NAME simd_step(simd_##NAME edge, simd_##NAME x) {                                      \
        const simd_##NAME zero = 0, one = 1;                                                                         \
        return simd_select(one, zero, (simd_##MASK)(x < edge));                                                      \
    }                                                                                                                \
    SMTL_SIMD_FUNCTION simd_##NAME simd_smoothstep(simd_##NAME from, simd_##NAME to, simd_##NAME x) {                \
        const simd_##NAME zero = 0, one = 1;                                                                         \
        const simd_##NAME t = simd_clamp((x - from) / (to - from), zero, one);                                       \
        return t * t * ((SCALAR)3 - (SCALAR)2 * t);                                                                  \
    }
SMTL_SIMD_ALL_FLOATS(SMTL_SIMD_REAL)
#undef SMTL_SIMD_REAL

#define simd_precise_recip simd_recip
#define simd_fast_recip simd_recip
#define simd_precise_rsqrt simd_rsqrt
#define simd_fast_rsqrt simd_rsqrt

#endif
