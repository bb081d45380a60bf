// <metal_array>: an array that is a value.
#pragma once

#include "spaces.h"
#include "type_traits.h"

namespace metal {

template <class T, size_t N> struct array {
    T elements[N == 0 ? 1 : N];

    constexpr size_t size() const { return N; }
    constexpr bool empty() const { return N == 0; }
    constexpr T &operator[](size_t i) { return elements[i]; }
    constexpr const T &operator[](size_t i) const { return elements[i]; }
    constexpr T *data() { return elements; }
    constexpr const T *data() const { return elements; }
    constexpr T *begin() { return elements; }
    constexpr const T *begin() const { return elements; }
    constexpr T *end() { return elements + N; }
    constexpr const T *end() const { return elements + N; }
    constexpr T &front() { return elements[0]; }
    constexpr const T &front() const { return elements[0]; }
    constexpr T &back() { return elements[N - 1]; }
    constexpr const T &back() const { return elements[N - 1]; }
};
template <class T, class... Others> array(T, Others...) -> array<T, 1 + sizeof...(Others)>;

}  // namespace metal

#if !defined(__OPENCL_CPP_VERSION__)
namespace smtl {

// An array in a named address space, with members that know the space (passes/spaces/elements.h). P is a pointer.
template <class P, size_t N> struct qualified_array {
    P elements;

    constexpr size_t size() const { return N; }
    constexpr auto &operator[](size_t i) const { return elements[i]; }
    constexpr P data() const { return elements; }
    constexpr P begin() const { return elements; }
    constexpr P end() const { return elements + N; }
    constexpr auto &front() const { return elements[0]; }
    constexpr auto &back() const { return elements[N - 1]; }
};
// A value stays a value, over which a loop can go. No function returns an array of C.
template <class T> constexpr metal::conditional_t<__is_array(T), T &&, T> qualified(T &&x) {
    return static_cast<T &&>(x);
}
#define SMTL_QUALIFIED(space)                                                                                     \
    template <class T, size_t N> constexpr qualified_array<space T *, N> qualified(space metal::array<T, N> &x) { \
        return {x.elements};                                                                                      \
    }
SMTL_QUALIFIED(SMTL_DEVICE)
SMTL_QUALIFIED(const SMTL_DEVICE)
SMTL_QUALIFIED(SMTL_THREADGROUP)
SMTL_QUALIFIED(const SMTL_THREADGROUP)
SMTL_QUALIFIED(SMTL_CONSTANT)
#undef SMTL_QUALIFIED

}  // namespace smtl
#endif
