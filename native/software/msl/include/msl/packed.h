// Packed vectors: the components one after the other, aligned as one component, computed with as vectors.
#pragma once

#include "vector.h"

namespace metal {

#define SMTL_PACKED_BINARY(op)                                                                                       \
    friend SMTL_FUNCTION constexpr vec<T, N> operator op(packed_vec a, packed_vec b) {                               \
        return vec<T, N>(a) op vec<T, N>(b);                                                                         \
    }                                                                                                                \
    friend SMTL_FUNCTION constexpr vec<T, N> operator op(packed_vec a, vec<T, N> b) { return vec<T, N>(a) op b; }    \
    friend SMTL_FUNCTION constexpr vec<T, N> operator op(vec<T, N> a, packed_vec b) { return a op vec<T, N>(b); }    \
    friend SMTL_FUNCTION constexpr vec<T, N> operator op(packed_vec a, T b) { return vec<T, N>(a) op vec<T, N>(b); } \
    friend SMTL_FUNCTION constexpr vec<T, N> operator op(T a, packed_vec b) { return vec<T, N>(a) op vec<T, N>(b); } \
    SMTL_FUNCTION packed_vec &operator op##=(vec<T, N> b) & { return *this = vec<T, N>(*this) op b; }
#define SMTL_PACKED_COMPARE(op)                                                           \
    friend SMTL_FUNCTION constexpr vec<bool, N> operator op(packed_vec a, packed_vec b) { \
        return vec<T, N>(a) op vec<T, N>(b);                                              \
    }

template <class T, int N> struct packed_storage;
template <class T> struct packed_storage<T, 2> {
    T x, y;
};
template <class T> struct packed_storage<T, 3> {
    T x, y, z;
};
template <class T> struct packed_storage<T, 4> {
    T x, y, z, w;
};

template <class T, int N> struct packed_vec : packed_storage<T, N> {
    using value_type = T;

    packed_vec() = default;
    // A constant expression where the vector is.
    SMTL_FUNCTION constexpr packed_vec(vec<T, N> value)
        : packed_storage<T, N>(__builtin_bit_cast(aligned_storage, value.native)) {}
    SMTL_FUNCTION constexpr packed_vec(T value) : packed_vec(vec<T, N>(value)) {}
    template <class A, class B, class... Others,
              class = decltype(vec<T, N>(declval<A>(), declval<B>(), declval<Others>()...))>
    SMTL_FUNCTION constexpr packed_vec(A a, B b, Others... others) : packed_vec(vec<T, N>(a, b, others...)) {}
    template <class U> SMTL_FUNCTION explicit constexpr packed_vec(vec<U, N> value) : packed_vec(vec<T, N>(value)) {}
    template <class U>
    SMTL_FUNCTION explicit constexpr packed_vec(packed_vec<U, N> value) : packed_vec(vec<T, N>(vec<U, N>(value))) {}

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

    // The leading components and all of them; other swizzles go through the vector.
    SMTL_FUNCTION vec<T, 2> get_xy() const { return vec<T, N>(*this).xy; }
    SMTL_FUNCTION void put_xy(vec<T, 2> value) & { this->x = value.x, this->y = value.y; }
    __declspec(property(get = get_xy, put = put_xy)) vec<T, 2> xy;
    SMTL_FUNCTION vec<T, 3> get_xyz() const { return vec<T, N>(*this).xyz; }
    SMTL_FUNCTION void put_xyz(vec<T, 3> value) & { this->x = value.x, this->y = value.y, this->z = value.z; }
    __declspec(property(get = get_xyz, put = put_xyz)) vec<T, 3> xyz;
    SMTL_FUNCTION vec<T, 4> get_xyzw() const { return *this; }
    SMTL_FUNCTION void put_xyzw(vec<T, 4> value) & { *this = value; }
    __declspec(property(get = get_xyzw, put = put_xyzw)) vec<T, 4> xyzw;

    SMTL_PACKED_BINARY(+)
    SMTL_PACKED_BINARY(-)
    SMTL_PACKED_BINARY(*)
    SMTL_PACKED_BINARY(/)
    SMTL_PACKED_BINARY(%)
    SMTL_PACKED_BINARY(&)
    SMTL_PACKED_BINARY(|)
    SMTL_PACKED_BINARY(^)
    SMTL_PACKED_BINARY(<<)
    SMTL_PACKED_BINARY(>>)
    SMTL_PACKED_COMPARE(==)
    SMTL_PACKED_COMPARE(!=)
    SMTL_PACKED_COMPARE(<)
    SMTL_PACKED_COMPARE(<=)
    SMTL_PACKED_COMPARE(>)
    SMTL_PACKED_COMPARE(>=)
    friend SMTL_FUNCTION constexpr vec<T, N> operator-(packed_vec a) { return -vec<T, N>(a); }
    friend SMTL_FUNCTION constexpr vec<T, N> operator~(packed_vec a) { return ~vec<T, N>(a); }

private:
    struct alignas(detail::native_t<T, N>) aligned_storage : packed_storage<T, N> {};
};

template <class T, int N> struct make_scalar<packed_vec<T, N>> : type_identity<T> {};
template <class T, int N> struct vec_elements<packed_vec<T, N>> : integral_constant<int, N> {};

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
