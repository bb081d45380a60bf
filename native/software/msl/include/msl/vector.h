// metal::vec<T, N>: a class around clang's vector type, with Metal's constructors, conversions, swizzles and operators.
// Clang's type alone would do the arithmetic, but not construct (`float4(xyz, 1)`), and it converts between vectors of
// equal size by reinterpreting their bits.
#pragma once

#include "shift.h"
#include "swizzle.h"
#include "type_traits.h"

namespace metal {

// The class, named by an array of as many components: Metal's vectors are clang's, whose length a template's parameter
// of any integer type matches (`template <class T, uint N> void f(vec<T, N>)`), as it matches the length of an array. A
// class with a parameter `int N` would be matched by an int alone.
template <class Components> struct smtl_vector_of;
template <class T, int N> using vec = smtl_vector_of<T[N]>;

namespace smtl_detail {

// Vectors of bool hold bytes that are 0 or 1: clang packs a vector of bool into bits, and Metal does not.
template <class T> struct component : smtl_type_identity<T> {};
template <> struct component<bool> : smtl_type_identity<uchar> {};

// An array of N components with the alignment of a vector.
template <class T, int N> struct native {
    typedef typename component<T>::type type __attribute__((ext_vector_type(N)));
};
template <class T, int N> using native_t = typename native<T, N>::type;

// To the nearest, ties to even; a NaN stays one. Clang would call a function for each component.
template <int N> SMTL_FUNCTION constexpr native_t<bfloat, N> round_to_bfloat(native_t<float, N> value) {
    const auto bits = __builtin_bit_cast(native_t<uint, N>, value);
    const native_t<uint, N> rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    const native_t<uint, N> quiet = bits | 0x400000u;
    const auto nan = __builtin_bit_cast(native_t<uint, N>, value != value);
    const native_t<uint, N> chosen = (rounded & ~nan) | (quiet & nan);
    return __builtin_bit_cast(native_t<bfloat, N>, __builtin_convertvector(chosen >> 16, native_t<ushort, N>));
}

// Component by component: clang saturates in conversions of scalars (see the compiler's arguments), not in those of its
// vectors.
template <class To, class From, int N> SMTL_FUNCTION constexpr native_t<To, N> to_integers(native_t<From, N> value) {
    if constexpr (N == 2)
        return {To(value[0]), To(value[1])};
    else if constexpr (N == 3)
        return {To(value[0]), To(value[1]), To(value[2])};
    else
        return {To(value[0]), To(value[1]), To(value[2]), To(value[3])};
}

template <class To, class From, int N> SMTL_FUNCTION constexpr native_t<To, N> convert(native_t<From, N> value) {
    if constexpr (is_same_v<To, From> || (is_same_v<To, uchar> && is_same_v<From, bool>))
        return value;
    else if constexpr (is_same_v<To, bool>)
        return __builtin_convertvector(value != 0, native_t<uchar, N>) & native_t<uchar, N>(1);
    else if constexpr (is_same_v<To, bfloat> && is_same_v<From, float>)
        return round_to_bfloat<N>(value);
    else if constexpr (is_same_v<To, bfloat>)
        return round_to_bfloat<N>(__builtin_convertvector(value, native_t<float, N>));
    else if constexpr (is_floating_point_v<From> && smtl_is_integral_v<To>)
        return to_integers<To, From, N>(value);
    else if constexpr (is_same_v<From, bfloat> && !is_same_v<To, float>)
        return __builtin_convertvector(__builtin_convertvector(value, native_t<float, N>), native_t<To, N>);
    else
        return __builtin_convertvector(value, native_t<To, N>);
}

#if SMTL_SANITIZE
// 0, 1, 2 ...: a swizzle of them says which components it names.
template <int N> SMTL_FUNCTION constexpr native_t<int, N> component_numbers() {
    if constexpr (N == 2)
        return {0, 1};
    else if constexpr (N == 3)
        return {0, 1, 2};
    else
        return {0, 1, 2, 3};
}

// Not loops: the optimiser leaves these as they are, and vectors that are indexed by variables in memory.
template <class T, int N, int Size>
SMTL_FUNCTION native_t<T, N> gather(const native_t<T, Size> &from, native_t<int, N> indices) {
    const T *components = reinterpret_cast<const T *>(&from);
    // Not the bool itself: clang fills a vector with -1 for true.
    native_t<T, N> result = typename component<T>::type(components[indices[0]]);
    result[1] = components[indices[1]];
    if constexpr (N > 2) result[2] = components[indices[2]];
    if constexpr (N > 3) result[3] = components[indices[3]];
    return result;
}

template <class T, int N, int Size>
SMTL_FUNCTION void scatter(native_t<T, Size> &to, native_t<int, N> indices, native_t<T, N> values) {
    T *components = reinterpret_cast<T *>(&to);
    components[indices[0]] = T(values[0]);
    components[indices[1]] = T(values[1]);
    if constexpr (N > 2) components[indices[2]] = T(values[2]);
    if constexpr (N > 3) components[indices[3]] = T(values[3]);
}
#endif

struct from_native_t {};
constexpr from_native_t from_native{};

// The lanes of a comparison, all ones or all zeros, as bools.
template <int N, class Mask> SMTL_FUNCTION constexpr vec<bool, N> to_bools(Mask mask) {
    return vec<bool, N>(from_native, __builtin_convertvector(mask, native_t<uchar, N>) & native_t<uchar, N>(1));
}

}  // namespace smtl_detail

namespace smtl_detail {
// What an operand is in an operator that its vector does not have. Nothing converts to it, so clang refuses the
// operator where the source uses it.
template <class Vector> struct no_operand;
}  // namespace smtl_detail

#define SMTL_VECTOR_BINARY(op, Operand)                                                                    \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator op(smtl_vector_of a, Operand b) {               \
        return smtl_vector_of(from_native, native_t(a.native op b.native));                                \
    }                                                                                                      \
    friend SMTL_FUNCTION volatile smtl_vector_of &operator op##=(volatile smtl_vector_of & a, Operand b) { \
        return a = smtl_vector_of(a) op b;                                                                 \
    }                                                                                                      \
    friend SMTL_FUNCTION constexpr smtl_vector_of &operator op##=(smtl_vector_of & a, Operand b) {         \
        a.native = native_t(a.native op b.native);                                                         \
        return a;                                                                                          \
    }
// The counts of a shift may have another type than what is shifted. Clang masks none of them where it computes itself.
#define SMTL_VECTOR_SHIFT(op)                                                                                   \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator op(smtl_vector_of a, smtl_integer b) {               \
        return smtl_vector_of(from_native, native_t(a.native op(b.native & native_t(sizeof(T) * 8 - 1))));      \
    }                                                                                                           \
    template <class U>                                                                                          \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator op(smtl_integer a, ::smtl::shift_count<U> b) {       \
        return a op smtl_vector_of(T(b.value));                                                                 \
    }                                                                                                           \
    template <class U, class = enable_if_t<smtl_is_integral_v<U> && !is_same_v<T, U>>>                          \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator op(smtl_integer a, vec<U, size> b) {                 \
        return a op smtl_vector_of(b);                                                                          \
    }                                                                                                           \
    friend SMTL_FUNCTION volatile smtl_vector_of &operator op##=(volatile smtl_vector_of & a, smtl_integer b) { \
        return a = smtl_vector_of(a) op b;                                                                      \
    }                                                                                                           \
    friend SMTL_FUNCTION constexpr smtl_vector_of &operator op##=(smtl_vector_of & a, smtl_integer b) {         \
        return a = a op b;                                                                                      \
    }                                                                                                           \
    template <class U, class = enable_if_t<smtl_is_integral_v<U> && !is_same_v<T, U>>>                          \
    friend SMTL_FUNCTION constexpr smtl_vector_of &operator op##=(smtl_integer & a, vec<U, size> b) {           \
        return a = a op smtl_vector_of(b);                                                                      \
    }
#define SMTL_VECTOR_COMPARE(op)                                                                      \
    friend SMTL_FUNCTION constexpr vec<bool, size> operator op(smtl_vector_of a, smtl_vector_of b) { \
        return smtl_detail::to_bools<size>(a.native op b.native);                                    \
    }

namespace smtl_detail {
// Asked for whatever a vector is made of: what is not volatile costs the compiler one question.
template <class V, class Vector, bool = __is_volatile(V)> constexpr bool is_volatile_of = false;
template <class V, class Vector>
constexpr bool is_volatile_of<V, Vector, true> = is_same_v<remove_cv_t<remove_addrspace_t<V>>, Vector>;
}  // namespace smtl_detail

// What volatile vectors are given. A template is not the assignment that the compiler makes, and gives way to it.
#define SMTL_VOLATILE_ASSIGNMENT                                                                              \
    template <class = void> SMTL_FUNCTION volatile smtl_vector_of &operator=(smtl_vector_of value) volatile { \
        native = value.native;                                                                                \
        return *this;                                                                                         \
    }

// What vectors of every length share.
#define SMTL_VECTOR_MEMBERS(N)                                                                                      \
    static constexpr int size = N;                                                                                  \
    using value_type = T;                                                                                           \
    using native_t = smtl_detail::native_t<T, N>;                                                                   \
    using from_native_t = smtl_detail::from_native_t;                                                               \
    static constexpr from_native_t from_native{};                                                                   \
                                                                                                                    \
    /* Operands, by what a vector of this type may be: a bool of it is a byte that has to stay 0 or 1. */           \
    using smtl_no_operand = smtl_detail::no_operand<smtl_vector_of>;                                                \
    using smtl_number = conditional_t<is_same_v<T, bool>, smtl_no_operand, smtl_vector_of>;                         \
    using smtl_bits = conditional_t<smtl_is_integral_v<T>, smtl_vector_of, smtl_no_operand>;                        \
    using smtl_integer = conditional_t<is_same_v<T, bool>, smtl_no_operand, smtl_bits>;                             \
                                                                                                                    \
    native_t native;                                                                                                \
                                                                                                                    \
    smtl_vector_of() = default;                                                                                     \
    SMTL_FUNCTION constexpr smtl_vector_of(from_native_t, native_t value) : native(value) {}                        \
    SMTL_FUNCTION constexpr smtl_vector_of(T value) : native(typename smtl_detail::component<T>::type(value)) {}    \
    template <class U>                                                                                              \
    SMTL_FUNCTION explicit constexpr smtl_vector_of(vec<U, N> other)                                                \
        : native(smtl_detail::convert<T, U, N>(other.native)) {}                                                    \
                                                                                                                    \
    /* Copies of volatile vectors. Templates, so that vectors stay trivially copyable. */                           \
    template <class V, class = enable_if_t<smtl_detail::is_volatile_of<V, smtl_vector_of>>>                         \
    SMTL_FUNCTION smtl_vector_of(V &other) : native(other.native) {}                                                \
    SMTL_VOLATILE_ASSIGNMENT                                                                                        \
    /* The components of a computed value, such as a swizzle, can only be read. */                                  \
    SMTL_FUNCTION volatile T &operator[](int i) volatile & { return reinterpret_cast<volatile T *>(&native)[i]; }   \
    SMTL_FUNCTION T operator[](int i) const volatile & { return reinterpret_cast<const volatile T *>(&native)[i]; } \
                                                                                                                    \
    SMTL_FUNCTION T &operator[](int i) & { return reinterpret_cast<T *>(&native)[i]; }                              \
    SMTL_FUNCTION constexpr T operator[](int i) const & { return T(native[i]); }                                    \
                                                                                                                    \
    SMTL_VECTOR_BINARY(+, smtl_number)                                                                              \
    SMTL_VECTOR_BINARY(-, smtl_number)                                                                              \
    SMTL_VECTOR_BINARY(*, smtl_number)                                                                              \
    SMTL_VECTOR_BINARY(/, smtl_number)                                                                              \
    SMTL_VECTOR_BINARY(%, smtl_integer)                                                                             \
    SMTL_VECTOR_BINARY(&, smtl_bits)                                                                                \
    SMTL_VECTOR_BINARY(|, smtl_bits)                                                                                \
    SMTL_VECTOR_BINARY(^, smtl_bits)                                                                                \
    SMTL_VECTOR_SHIFT(<<)                                                                                           \
    SMTL_VECTOR_SHIFT(>>)                                                                                           \
    SMTL_VECTOR_COMPARE(==)                                                                                         \
    SMTL_VECTOR_COMPARE(!=)                                                                                         \
    SMTL_VECTOR_COMPARE(<)                                                                                          \
    SMTL_VECTOR_COMPARE(<=)                                                                                         \
    SMTL_VECTOR_COMPARE(>)                                                                                          \
    SMTL_VECTOR_COMPARE(>=)                                                                                         \
    friend SMTL_FUNCTION constexpr vec<bool, N> operator&&(smtl_vector_of a, smtl_vector_of b) {                    \
        return vec<bool, N>(a) & vec<bool, N>(b);                                                                   \
    }                                                                                                               \
    friend SMTL_FUNCTION constexpr vec<bool, N> operator||(smtl_vector_of a, smtl_vector_of b) {                    \
        return vec<bool, N>(a) | vec<bool, N>(b);                                                                   \
    }                                                                                                               \
    friend SMTL_FUNCTION constexpr vec<bool, N> operator!(smtl_vector_of a) {                                       \
        return smtl_detail::to_bools<N>(a.native == native_t(0));                                                   \
    }                                                                                                               \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator+(smtl_number a) { return a; }                            \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator-(smtl_number a) {                                        \
        return smtl_vector_of(from_native, native_t(-a.native));                                                    \
    }                                                                                                               \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator~(smtl_bits a) {                                          \
        if constexpr (is_same_v<T, bool>) return smtl_vector_of(from_native, native_t(a.native ^ native_t(1)));     \
        return smtl_vector_of(from_native, native_t(~a.native));                                                    \
    }                                                                                                               \
    friend SMTL_FUNCTION constexpr smtl_vector_of &operator++(smtl_number &a) { return a += smtl_vector_of(T(1)); } \
    friend SMTL_FUNCTION constexpr smtl_vector_of &operator--(smtl_number &a) { return a -= smtl_vector_of(T(1)); } \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator++(smtl_number &a, int) {                                 \
        const smtl_vector_of before = a;                                                                            \
        a += smtl_vector_of(T(1));                                                                                  \
        return before;                                                                                              \
    }                                                                                                               \
    friend SMTL_FUNCTION constexpr smtl_vector_of operator--(smtl_number &a, int) {                                 \
        const smtl_vector_of before = a;                                                                            \
        a -= smtl_vector_of(T(1));                                                                                  \
        return before;                                                                                              \
    }

template <class T> struct smtl_vector_of<T[2]> {
    SMTL_VECTOR_MEMBERS(2)
    SMTL_FUNCTION constexpr smtl_vector_of(T x, T y)
        : native{typename smtl_detail::component<T>::type(x), typename smtl_detail::component<T>::type(y)} {}
    SMTL_SWIZZLES_2(SMTL_SWIZZLE)
};

template <class T> struct smtl_vector_of<T[3]> {
    using C = typename smtl_detail::component<T>::type;
    SMTL_VECTOR_MEMBERS(3)
    SMTL_FUNCTION constexpr smtl_vector_of(T x, T y, T z) : native{C(x), C(y), C(z)} {}
    SMTL_FUNCTION constexpr smtl_vector_of(T x, vec<T, 2> yz) : native{C(x), yz.native.x, yz.native.y} {}
    SMTL_FUNCTION constexpr smtl_vector_of(vec<T, 2> xy, T z) : native{xy.native.x, xy.native.y, C(z)} {}
    SMTL_SWIZZLES_3(SMTL_SWIZZLE)
};

template <class T> struct smtl_vector_of<T[4]> {
    using C = typename smtl_detail::component<T>::type;
    SMTL_VECTOR_MEMBERS(4)
    SMTL_FUNCTION constexpr smtl_vector_of(T x, T y, T z, T w) : native{C(x), C(y), C(z), C(w)} {}
    SMTL_FUNCTION constexpr smtl_vector_of(T x, T y, vec<T, 2> zw) : native{C(x), C(y), zw.native.x, zw.native.y} {}
    SMTL_FUNCTION constexpr smtl_vector_of(T x, vec<T, 2> yz, T w) : native{C(x), yz.native.x, yz.native.y, C(w)} {}
    SMTL_FUNCTION constexpr smtl_vector_of(vec<T, 2> xy, T z, T w) : native{xy.native.x, xy.native.y, C(z), C(w)} {}
    SMTL_FUNCTION constexpr smtl_vector_of(vec<T, 2> xy, vec<T, 2> zw)
        : native{xy.native.x, xy.native.y, zw.native.x, zw.native.y} {}
    SMTL_FUNCTION constexpr smtl_vector_of(T x, vec<T, 3> yzw)
        : native{C(x), yzw.native.x, yzw.native.y, yzw.native.z} {}
    SMTL_FUNCTION constexpr smtl_vector_of(vec<T, 3> xyz, T w)
        : native{xyz.native.x, xyz.native.y, xyz.native.z, C(w)} {}
    SMTL_SWIZZLES_4(SMTL_SWIZZLE)
};

// The scalar type and the number of components of scalars and vectors alike.
template <class T> struct make_scalar : smtl_type_identity<T> {};
template <class T, int N> struct make_scalar<vec<T, N>> : smtl_type_identity<T> {};
template <class T> using make_scalar_t = typename make_scalar<T>::type;
// SPIRV-Cross's helpers rely on it.
template <class T, int N> struct is_integral<vec<T, N>> : bool_constant<smtl_is_integral_v<T>> {};
template <class T, int N> struct is_integral<const vec<T, N>> : bool_constant<smtl_is_integral_v<T>> {};
template <class T, int N = 4> struct make_vector : smtl_type_identity<vec<T, N>> {};
template <class T, int N = 4> using make_vector_t = typename make_vector<T, N>::type;
template <class T> struct vec_elements : integral_constant<int, 1> {};
template <class T, int N> struct vec_elements<vec<T, N>> : integral_constant<int, N> {};
template <class T> struct is_vector : bool_constant<(vec_elements<T>::value > 1)> {};
template <class T> constexpr bool is_vector_v = is_vector<T>::value;

}  // namespace metal

namespace smtl {

// What a property's getter returns; for an object, which may have operators that change it, the object itself
// (passes/components.h).
template <class T, metal::enable_if_t<!__is_class(T), int> = 0> SMTL_FUNCTION constexpr T value(T value) {
    return value;
}
template <class T, metal::enable_if_t<__is_class(metal::remove_reference_t<T>), int> = 0>
SMTL_FUNCTION constexpr T value(T &&value) {
    return static_cast<T &&>(value);
}

// What an assignment leaves in a variable that had the value. It may be an operator of the source, which need not do
// what the operator does that computes. Its result is lost, so it is the variable or nothing.
#define SMTL_ASSIGNED(name, operation)                                                                   \
    template <class T, class U> SMTL_FUNCTION constexpr T name(T value, U operand) {                     \
        using result = metal::remove_cv_t<metal::remove_reference_t<decltype(value operation operand)>>; \
        static_assert(metal::is_same_v<result, T> || metal::is_same_v<result, void>,                     \
                      "the assignment to a member returns another type");                                \
        value operation operand;                                                                         \
        return value;                                                                                    \
    }
SMTL_ASSIGNED(added, +=)
SMTL_ASSIGNED(subtracted, -=)
SMTL_ASSIGNED(multiplied, *=)
SMTL_ASSIGNED(divided, /=)
SMTL_ASSIGNED(remainder, %=)
SMTL_ASSIGNED(both_bits, &=)
SMTL_ASSIGNED(any_bits, |=)
SMTL_ASSIGNED(differing_bits, ^=)
SMTL_ASSIGNED(shifted_left, <<=)
SMTL_ASSIGNED(shifted_right, >>=)
#undef SMTL_ASSIGNED

}  // namespace smtl

// Metal's types have their names with and without `metal::`.
#define SMTL_IN_METAL(name) \
    namespace metal {       \
    using ::name;           \
    }
#define SMTL_VECTOR_NAMES(T)         \
    using T##2 = ::metal::vec<T, 2>; \
    using T##3 = ::metal::vec<T, 3>; \
    using T##4 = ::metal::vec<T, 4>; \
    SMTL_IN_METAL(T##2) SMTL_IN_METAL(T##3) SMTL_IN_METAL(T##4)
SMTL_VECTOR_NAMES(bool)
SMTL_VECTOR_NAMES(char)
SMTL_VECTOR_NAMES(uchar)
SMTL_VECTOR_NAMES(short)
SMTL_VECTOR_NAMES(ushort)
SMTL_VECTOR_NAMES(int)
SMTL_VECTOR_NAMES(uint)
SMTL_VECTOR_NAMES(long)
SMTL_VECTOR_NAMES(ulong)
SMTL_VECTOR_NAMES(half)
SMTL_VECTOR_NAMES(float)
SMTL_VECTOR_NAMES(bfloat)

// Reinterprets the bits of a value of the same size.
template <class To, class From> SMTL_FUNCTION constexpr To as_type(From value) {
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of one size");
    if constexpr (::metal::is_same_v<From, bfloat> && ::metal::is_vector_v<To>) {
        if (!__builtin_is_constant_evaluated()) {
            // By way of memory: clang's code generator fails on bytes of a bfloat in a register.
            const volatile ushort bits = __builtin_bit_cast(ushort, value);
            return __builtin_bit_cast(To, static_cast<ushort>(bits));
        }
    }
    return __builtin_bit_cast(To, value);
}
namespace metal {
using ::as_type;
}
