// Macros of the Metal Shading Language. Included before every source, whose macros are expanded before translation.
#define __METAL__ 1
#define __METAL_MACOS__ 1
#define __HAVE_BFLOAT__ 1
#define __HAVE_SIMDGROUP_BARRIER__ 1
#define __HAVE_SIMDGROUP_REDUCTION__ 1
#define __HAVE_SIMDGROUP_MATRIX__ 1
#define __HAVE_ATOMIC_FLOAT__ 1

#define METAL_FUNC inline __attribute__((always_inline))
#define METAL_CONST __attribute__((const))
#define METAL_PURE __attribute__((pure))
#define METAL_ASM(...)
#define METAL_INTERNAL

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_huge_valf()
#define HUGE_VALH half(__builtin_huge_valf())
#define MAXFLOAT 0x1.fffffep127f
#define MAXHALF half(65504.0f)
#define MAXBFLOAT bfloat(0x1.fep127f)

#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define FLT_DECIMAL_DIG 9
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN 2147483647

#define HALF_DIG 2
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define HALF_MAX half(0x1.ffcp15f)
#define HALF_MIN half(0x1.0p-14f)
#define HALF_EPSILON half(0x1.0p-10f)

#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN (-128)
#define CHAR_MAX 127
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul

#define M_E_F 2.71828182845904523536028747135266250f
#define M_LOG2E_F 1.44269504088896340735992468100189214f
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN10_F 2.30258509299404568401799145468436421f
#define M_PI_F 3.14159265358979323846264338327950288f
#define M_PI_2_F 1.57079632679489661923132169163975144f
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_SQRTPI_F 1.12837916709551257389615890312154517f
#define M_SQRT2_F 1.41421356237309504880168872420969808f
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f

#define M_E_H half(M_E_F)
#define M_LOG2E_H half(M_LOG2E_F)
#define M_LOG10E_H half(M_LOG10E_F)
#define M_LN2_H half(M_LN2_F)
#define M_LN10_H half(M_LN10_F)
#define M_PI_H half(M_PI_F)
#define M_PI_2_H half(M_PI_2_F)
#define M_PI_4_H half(M_PI_4_F)
#define M_1_PI_H half(M_1_PI_F)
#define M_2_PI_H half(M_2_PI_F)
#define M_2_SQRTPI_H half(M_2_SQRTPI_F)
#define M_SQRT2_H half(M_SQRT2_F)
#define M_SQRT1_2_H half(M_SQRT1_2_F)

#define M_E_BF bfloat(M_E_F)
#define M_LOG2E_BF bfloat(M_LOG2E_F)
#define M_LOG10E_BF bfloat(M_LOG10E_F)
#define M_LN2_BF bfloat(M_LN2_F)
#define M_LN10_BF bfloat(M_LN10_F)
#define M_PI_BF bfloat(M_PI_F)
#define M_PI_2_BF bfloat(M_PI_2_F)
#define M_PI_4_BF bfloat(M_PI_4_F)
#define M_1_PI_BF bfloat(M_1_PI_F)
#define M_2_PI_BF bfloat(M_2_PI_F)
#define M_2_SQRTPI_BF bfloat(M_2_SQRTPI_F)
#define M_SQRT2_BF bfloat(M_SQRT2_F)
#define M_SQRT1_2_BF bfloat(M_SQRT1_2_F)

// The compiler's built-in functions under the names that Apple's gives them. Kernels call these where they add
// overloads to the standard library's functions. Most of those of lanes are macros, so that a call's position stays its
// own; the others are functions (msl/builtins.h, smtl/simd.h).
#define __METAL_MEMORY_SCOPE_SYSTEM__ 3 /* there is metal::thread_scope_system */
#define __METAL_FAST_MATH__ true
#define __METAL_PRECISE_MATH__ false
#define __METAL_MAYBE_FAST_MATH__ true
#define __metal_simd_sum metal::simd_sum
#define __metal_simd_product metal::simd_product
#define __metal_simd_min metal::simd_min
#define __metal_simd_max metal::simd_max
#define __metal_simd_prefix_inclusive_sum metal::simd_prefix_inclusive_sum
#define __metal_simd_prefix_exclusive_sum metal::simd_prefix_exclusive_sum
#define __metal_simd_prefix_inclusive_product metal::simd_prefix_inclusive_product
#define __metal_simd_prefix_exclusive_product metal::simd_prefix_exclusive_product
#define __metal_simd_broadcast_first metal::simd_broadcast_first
#define __metal_simd_broadcast metal::simd_broadcast
#define __metal_simd_shuffle metal::simd_shuffle
#define __metal_simd_shuffle_xor metal::simd_shuffle_xor
#define __metal_simd_shuffle_up metal::simd_shuffle_up
#define __metal_simd_shuffle_down metal::simd_shuffle_down
#define __metal_simd_shuffle_rotate_up metal::simd_shuffle_rotate_up
#define __metal_simd_shuffle_rotate_down metal::simd_shuffle_rotate_down
#define __metal_simd_shuffle_and_fill_up metal::simd_shuffle_and_fill_up
#define __metal_simd_shuffle_and_fill_down metal::simd_shuffle_and_fill_down
#define __metal_simd_ballot metal::simd_ballot
#define __metal_simd_any metal::simd_any
#define __metal_simd_all metal::simd_all
#define __metal_simd_is_first metal::simd_is_first
#define __metal_quad_sum metal::quad_sum
#define __metal_quad_product metal::quad_product
#define __metal_quad_min metal::quad_min
#define __metal_quad_max metal::quad_max
#define __metal_quad_prefix_inclusive_sum metal::quad_prefix_inclusive_sum
#define __metal_quad_prefix_exclusive_sum metal::quad_prefix_exclusive_sum
#define __metal_quad_prefix_inclusive_product metal::quad_prefix_inclusive_product
#define __metal_quad_prefix_exclusive_product metal::quad_prefix_exclusive_product
#define __metal_quad_broadcast_first metal::quad_broadcast_first
#define __metal_quad_broadcast metal::quad_broadcast
#define __metal_quad_shuffle metal::quad_shuffle
#define __metal_quad_shuffle_xor metal::quad_shuffle_xor
#define __metal_quad_shuffle_up metal::quad_shuffle_up
#define __metal_quad_shuffle_down metal::quad_shuffle_down
#define __metal_quad_shuffle_rotate_up metal::quad_shuffle_rotate_up
#define __metal_quad_shuffle_rotate_down metal::quad_shuffle_rotate_down
#define __metal_quad_shuffle_and_fill_up metal::quad_shuffle_and_fill_up
#define __metal_quad_shuffle_and_fill_down metal::quad_shuffle_and_fill_down
#define __metal_quad_ballot metal::quad_ballot
#define __metal_quad_any metal::quad_any
#define __metal_quad_all metal::quad_all
#define __metal_quad_is_first metal::quad_is_first

#define assert(condition) ((void)0)
