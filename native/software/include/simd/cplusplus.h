/* namespace simd: the functions without their prefix, and matrices with constructors and operators, which are those of
 * C. */
#ifndef SMTL_SIMD_CPLUSPLUS_H
#define SMTL_SIMD_CPLUSPLUS_H
#ifdef __cplusplus

#include <simd/conversion.h>
#include <simd/matrix.h>
#include <simd/vector_make.h>

namespace simd {

/* Whatever the function of C takes. */
#define SMTL_SIMD_FORWARD(NAME)                                                                     \
    template <class... Arguments>                                                                   \
    static inline __attribute__((__always_inline__, __nodebug__)) auto NAME(Arguments... arguments) \
        -> decltype(::simd_##NAME(arguments...)) {                                                  \
        return ::simd_##NAME(arguments...);                                                         \
    }
#define SMTL_SIMD_FORWARD_MAKE(T)  \
    SMTL_SIMD_FORWARD(make_##T##2) \
    SMTL_SIMD_FORWARD(make_##T##3) \
    SMTL_SIMD_FORWARD(make_##T##4) \
    SMTL_SIMD_FORWARD(make_##T##8)
SMTL_SIMD_FORWARD_MAKE(char)
SMTL_SIMD_FORWARD_MAKE(uchar)
SMTL_SIMD_FORWARD_MAKE(short)
SMTL_SIMD_FORWARD_MAKE(ushort)
SMTL_SIMD_FORWARD_MAKE(int)
SMTL_SIMD_FORWARD_MAKE(uint)
SMTL_SIMD_FORWARD_MAKE(long)
SMTL_SIMD_FORWARD_MAKE(ulong)
SMTL_SIMD_FORWARD_MAKE(half)
SMTL_SIMD_FORWARD_MAKE(float)
SMTL_SIMD_FORWARD_MAKE(double)
SMTL_SIMD_FORWARD(make_char16)
SMTL_SIMD_FORWARD(make_uchar16)
SMTL_SIMD_FORWARD(make_short16)
SMTL_SIMD_FORWARD(make_ushort16)
SMTL_SIMD_FORWARD(make_int16)
SMTL_SIMD_FORWARD(make_uint16)
SMTL_SIMD_FORWARD(make_half16)
SMTL_SIMD_FORWARD(make_float16)
SMTL_SIMD_FORWARD(make_char32)
SMTL_SIMD_FORWARD(make_uchar32)
SMTL_SIMD_FORWARD(make_short32)
SMTL_SIMD_FORWARD(make_ushort32)
SMTL_SIMD_FORWARD(make_half32)
SMTL_SIMD_FORWARD(make_char64)
SMTL_SIMD_FORWARD(make_uchar64)
SMTL_SIMD_FORWARD(abs)
SMTL_SIMD_FORWARD(all)
SMTL_SIMD_FORWARD(any)
SMTL_SIMD_FORWARD(clamp)
SMTL_SIMD_FORWARD(cross)
SMTL_SIMD_FORWARD(determinant)
SMTL_SIMD_FORWARD(distance)
SMTL_SIMD_FORWARD(distance_squared)
SMTL_SIMD_FORWARD(dot)
SMTL_SIMD_FORWARD(equal)
SMTL_SIMD_FORWARD(fract)
SMTL_SIMD_FORWARD(length)
SMTL_SIMD_FORWARD(length_squared)
SMTL_SIMD_FORWARD(max)
SMTL_SIMD_FORWARD(min)
SMTL_SIMD_FORWARD(mix)
SMTL_SIMD_FORWARD(norm_inf)
SMTL_SIMD_FORWARD(norm_one)
SMTL_SIMD_FORWARD(normalize)
SMTL_SIMD_FORWARD(project)
SMTL_SIMD_FORWARD(recip)
SMTL_SIMD_FORWARD(reduce_add)
SMTL_SIMD_FORWARD(reduce_max)
SMTL_SIMD_FORWARD(reduce_min)
SMTL_SIMD_FORWARD(reflect)
SMTL_SIMD_FORWARD(refract)
SMTL_SIMD_FORWARD(rsqrt)
SMTL_SIMD_FORWARD(select)
SMTL_SIMD_FORWARD(sign)
SMTL_SIMD_FORWARD(smoothstep)
SMTL_SIMD_FORWARD(sqrt)
SMTL_SIMD_FORWARD(step)
#undef SMTL_SIMD_FORWARD
#undef SMTL_SIMD_FORWARD_MAKE

/* With the members of the structure of C, and no others. */
#define SMTL_SIMD_PARAMETERS_2(V) V a, V b
#define SMTL_SIMD_PARAMETERS_3(V) V a, V b, V c
#define SMTL_SIMD_PARAMETERS_4(V) V a, V b, V c, V d
#define SMTL_SIMD_ARGUMENTS_2 a, b
#define SMTL_SIMD_ARGUMENTS_3 a, b, c
#define SMTL_SIMD_ARGUMENTS_4 a, b, c, d
#define SMTL_SIMD_MATRIX(T, C, R)                                                                             \
    struct T##C##x##R : ::simd_##T##C##x##R {                                                                 \
        typedef ::simd_##T##C##x##R plain;                                                                    \
        typedef T##1 diagonal __attribute__((__ext_vector_type__(C < R ? C : R)));                            \
        T##C##x##R() : plain() {}                                                                             \
        T##C##x##R(const plain &other) : plain(other) {}                                                      \
        T##C##x##R(SMTL_SIMD_PARAMETERS_##C(T##R)) : plain{{SMTL_SIMD_ARGUMENTS_##C}} {}                      \
        /* Numbers on the diagonal, or one number there, and 0 elsewhere. */                                  \
        explicit T##C##x##R(diagonal numbers) : plain() {                                                     \
            for (int i = 0; i < C && i < R; i++) {                                                            \
                columns[i][i] = numbers[i];                                                                   \
            }                                                                                                 \
        }                                                                                                     \
        explicit T##C##x##R(T##1 number) : plain() {                                                          \
            for (int i = 0; i < C && i < R; i++) {                                                            \
                columns[i][i] = number;                                                                       \
            }                                                                                                 \
        }                                                                                                     \
        T##R &operator[](int column) { return columns[column]; }                                              \
        const T##R &operator[](int column) const { return columns[column]; }                                  \
        T##C##x##R &operator+=(const plain &other) { return *this = ::simd_add(*this, other); }               \
        T##C##x##R &operator-=(const plain &other) { return *this = ::simd_sub(*this, other); }               \
        T##C##x##R &operator*=(T##1 factor) { return *this = ::simd_mul(factor, *this); }                     \
    };                                                                                                        \
    static inline T##C##x##R operator+(const T##C##x##R &x, const T##C##x##R &y) { return ::simd_add(x, y); } \
    static inline T##C##x##R operator-(const T##C##x##R &x, const T##C##x##R &y) { return ::simd_sub(x, y); } \
    static inline T##C##x##R operator-(const T##C##x##R &x) { return ::simd_mul(T##1(-1), x); }               \
    static inline T##C##x##R operator*(T##1 factor, const T##C##x##R &x) { return ::simd_mul(factor, x); }    \
    static inline T##C##x##R operator*(const T##C##x##R &x, T##1 factor) { return ::simd_mul(factor, x); }    \
    static inline T##R operator*(const T##C##x##R &x, T##C y) { return ::simd_mul(x, y); }                    \
    static inline T##C operator*(T##R x, const T##C##x##R &y) { return ::simd_mul(x, y); }                    \
    static inline bool operator==(const T##C##x##R &x, const T##C##x##R &y) { return ::simd_equal(x, y); }    \
    static inline bool operator!=(const T##C##x##R &x, const T##C##x##R &y) { return !::simd_equal(x, y); }
SMTL_SIMD_ALL_MATRICES(SMTL_SIMD_MATRIX)

#define SMTL_SIMD_MATRIX_OF_MATRICES(T, C, R)                                                             \
    static inline T##2x##R operator*(const T##C##x##R &x, const T##2x##C &y) { return ::simd_mul(x, y); } \
    static inline T##3x##R operator*(const T##C##x##R &x, const T##3x##C &y) { return ::simd_mul(x, y); } \
    static inline T##4x##R operator*(const T##C##x##R &x, const T##4x##C &y) { return ::simd_mul(x, y); } \
    static inline T##R##x##C transpose(const T##C##x##R &x) { return ::simd_transpose(x); }
SMTL_SIMD_ALL_MATRICES(SMTL_SIMD_MATRIX_OF_MATRICES)

#define SMTL_SIMD_INVERSE(T)                                                     \
    static inline T##2x2 inverse(const T##2x2 & x) { return ::simd_inverse(x); } \
    static inline T##3x3 inverse(const T##3x3 & x) { return ::simd_inverse(x); } \
    static inline T##4x4 inverse(const T##4x4 & x) { return ::simd_inverse(x); }
SMTL_SIMD_INVERSE(half)
SMTL_SIMD_INVERSE(float)
SMTL_SIMD_INVERSE(double)
#undef SMTL_SIMD_PARAMETERS_2
#undef SMTL_SIMD_PARAMETERS_3
#undef SMTL_SIMD_PARAMETERS_4
#undef SMTL_SIMD_ARGUMENTS_2
#undef SMTL_SIMD_ARGUMENTS_3
#undef SMTL_SIMD_ARGUMENTS_4
#undef SMTL_SIMD_MATRIX
#undef SMTL_SIMD_MATRIX_OF_MATRICES
#undef SMTL_SIMD_INVERSE

}  // namespace simd
#endif
#endif
