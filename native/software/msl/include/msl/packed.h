// Packed vectors: the components one after the other, aligned as one component, computed with as vectors.
#pragma once

#include "vector.h"

namespace metal {

// Named by the vector that it converts to, so that the operators of that vector are found for it too, and it converts
// to their parameters as it does to those of functions. What changes it is its own.
template <class Vector> struct smtl_packed_of;
template <class T, int N> using packed_vec = smtl_packed_of<vec<T, N>>;

#define SMTL_PACKED_ASSIGNMENT(op) \
    SMTL_FUNCTION smtl_packed_of &operator op##=(vec<T, N> b) & { return *this = vec<T, N>(*this) op b; }

// Only the components that are named are read and written. A setter with a component twice does not compile where it is
// used, as clang's own does not.
#define SMTL_PACKED_SWIZZLE_OF(n, name, alternative, components, assignments)   \
    SMTL_FUNCTION constexpr vec<T, n> get_##name() const { return components; } \
    SMTL_FUNCTION constexpr vec<T, n> put_##name(vec<T, n> value) & {           \
        static_assert(sizeof(declval<native_t &>().name = value.native) != 0);  \
        assignments;                                                            \
        return value;                                                           \
    }                                                                           \
    __declspec(property(get = get_##name, put = put_##name)) vec<T, n> name;    \
    __declspec(property(get = get_##name, put = put_##name)) vec<T, n> alternative;
#define SMTL_PACKED_SWIZZLE1(a, A)                                     \
    SMTL_FUNCTION constexpr T get_##A() const { return a; }            \
    SMTL_FUNCTION constexpr T put_##A(T value) & { return a = value; } \
    SMTL_PROPERTY(T, get_##A, put_##A, A);
#define SMTL_PACKED_SWIZZLE2(a, A, b, B) \
    SMTL_PACKED_SWIZZLE_OF(2, a##b, A##B, (vec<T, 2>(a, b)), (a = value.x, b = value.y))
#define SMTL_PACKED_SWIZZLE3(a, A, b, B, c, C) \
    SMTL_PACKED_SWIZZLE_OF(3, a##b##c, A##B##C, (vec<T, 3>(a, b, c)), (a = value.x, b = value.y, c = value.z))
#define SMTL_PACKED_SWIZZLE4(a, A, b, B, c, C, d, D)                           \
    SMTL_PACKED_SWIZZLE_OF(4, a##b##c##d, A##B##C##D, (vec<T, 4>(a, b, c, d)), \
                           (a = value.x, b = value.y, c = value.z, d = value.w))

template <class T, int N> struct smtl_packed_storage;
template <class T> struct smtl_packed_storage<T, 2> {
    using native_t = smtl_detail::native_t<T, 2>;
    T x, y;
    SMTL_SWIZZLES_2(SMTL_PACKED_SWIZZLE)
};
template <class T> struct smtl_packed_storage<T, 3> {
    using native_t = smtl_detail::native_t<T, 3>;
    T x, y, z;
    SMTL_SWIZZLES_3(SMTL_PACKED_SWIZZLE)
};
template <class T> struct smtl_packed_storage<T, 4> {
    using native_t = smtl_detail::native_t<T, 4>;
    T x, y, z, w;
    SMTL_SWIZZLES_4(SMTL_PACKED_SWIZZLE)
};

template <class T, int N> struct smtl_packed_of<vec<T, N>> : smtl_packed_storage<T, N> {
    using value_type = T;

    smtl_packed_of() = default;
    // A constant expression where the vector is.
    SMTL_FUNCTION constexpr smtl_packed_of(vec<T, N> value)
        : smtl_packed_storage<T, N>(__builtin_bit_cast(aligned_storage, value.native)) {}
    SMTL_FUNCTION constexpr smtl_packed_of(T value) : smtl_packed_of(vec<T, N>(value)) {}
    template <class A, class B, class... Others,
              class = decltype(vec<T, N>(declval<A>(), declval<B>(), declval<Others>()...))>
    SMTL_FUNCTION constexpr smtl_packed_of(A a, B b, Others... others) : smtl_packed_of(vec<T, N>(a, b, others...)) {}
    template <class U>
    SMTL_FUNCTION explicit constexpr smtl_packed_of(vec<U, N> value) : smtl_packed_of(vec<T, N>(value)) {}
    template <class U>
    SMTL_FUNCTION explicit constexpr smtl_packed_of(packed_vec<U, N> value)
        : smtl_packed_of(vec<T, N>(vec<U, N>(value))) {}

    SMTL_FUNCTION operator vec<T, N>() const {
        vec<T, N> value;
        __builtin_memcpy(&value, static_cast<const void *>(this), sizeof(T) * N);
        return value;
    }
    template <class U, class = enable_if_t<!is_same_v<T, U>>> SMTL_FUNCTION explicit operator vec<U, N>() const {
        return vec<U, N>(vec<T, N>(*this));
    }

    SMTL_FUNCTION T &operator[](int i) & { return reinterpret_cast<T *>(this)[i]; }
    SMTL_FUNCTION const T &operator[](int i) const & { return reinterpret_cast<const T *>(this)[i]; }

    SMTL_PACKED_ASSIGNMENT(+)
    SMTL_PACKED_ASSIGNMENT(-)
    SMTL_PACKED_ASSIGNMENT(*)
    SMTL_PACKED_ASSIGNMENT(/)
    SMTL_PACKED_ASSIGNMENT(%)
    SMTL_PACKED_ASSIGNMENT(&)
    SMTL_PACKED_ASSIGNMENT(|)
    SMTL_PACKED_ASSIGNMENT(^)
    SMTL_PACKED_ASSIGNMENT(<<)
    SMTL_PACKED_ASSIGNMENT(>>)

private:
    struct alignas(smtl_detail::native_t<T, N>) aligned_storage : smtl_packed_storage<T, N> {};
};

template <class T, int N> struct make_scalar<packed_vec<T, N>> : smtl_type_identity<T> {};
template <class T, int N> struct vec_elements<packed_vec<T, N>> : integral_constant<int, N> {};

namespace smtl_detail {
template <class T> constexpr bool is_packed_v = false;
template <class V> constexpr bool is_packed_v<smtl_packed_of<V>> = true;
template <class... T> constexpr bool any_packed_v = (is_packed_v<T> || ...);

// The vector that a packed vector stands for; everything else as it is.
template <class T> SMTL_FUNCTION T aligned(T value) { return value; }
template <class V> SMTL_FUNCTION V aligned(smtl_packed_of<V> value) { return value; }
}  // namespace smtl_detail

// Template arguments are not deduced through conversions, so a function that is a template takes packed vectors by this
// one, which a template of a source's own is preferred to.
#define SMTL_PACKED_ARGUMENTS(name)                                                                               \
    template <class... A, class = enable_if_t<smtl_detail::any_packed_v<A...>>> SMTL_FUNCTION auto name(A... a) { \
        return name(smtl_detail::aligned(a)...);                                                                  \
    }

}  // namespace metal

#define SMTL_PACKED_NAMES(T)                         \
    using packed_##T##2 = ::metal::packed_vec<T, 2>; \
    using packed_##T##3 = ::metal::packed_vec<T, 3>; \
    using packed_##T##4 = ::metal::packed_vec<T, 4>; \
    SMTL_IN_METAL(packed_##T##2) SMTL_IN_METAL(packed_##T##3) SMTL_IN_METAL(packed_##T##4)
SMTL_PACKED_NAMES(bool)
SMTL_PACKED_NAMES(char)
SMTL_PACKED_NAMES(uchar)
SMTL_PACKED_NAMES(short)
SMTL_PACKED_NAMES(ushort)
SMTL_PACKED_NAMES(int)
SMTL_PACKED_NAMES(uint)
SMTL_PACKED_NAMES(long)
SMTL_PACKED_NAMES(ulong)
SMTL_PACKED_NAMES(half)
SMTL_PACKED_NAMES(float)
SMTL_PACKED_NAMES(bfloat)
