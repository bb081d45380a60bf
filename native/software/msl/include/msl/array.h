// <metal_array>: an array that is a value.
#pragma once

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
