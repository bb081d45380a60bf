// <metal_geometric>
#pragma once

#include "relational.h"

namespace metal {

template <class T, int N> SMTL_FUNCTION T dot(vec<T, N> a, type_identity_t<vec<T, N>> b) {
    using C = detail::computed_t<T>;
    const auto products = (vec<C, N>(a) * vec<C, N>(b)).native;
    if constexpr (N == 2) return T(products.x + products.y);
    if constexpr (N == 3) return T(products.x + products.y + products.z);
    if constexpr (N == 4) return T((products.x + products.z) + (products.y + products.w));
}
template <class T> SMTL_FUNCTION vec<T, 3> cross(vec<T, 3> a, type_identity_t<vec<T, 3>> b) {
    return a.yzx * b.zxy - a.zxy * b.yzx;
}
template <class T, int N> SMTL_FUNCTION T length_squared(vec<T, N> a) { return dot(a, a); }
template <class T, int N> SMTL_FUNCTION T length(vec<T, N> a) { return sqrt(dot(a, a)); }
template <class T, int N> SMTL_FUNCTION T distance_squared(vec<T, N> a, type_identity_t<vec<T, N>> b) {
    return length_squared(a - b);
}
template <class T, int N> SMTL_FUNCTION T distance(vec<T, N> a, type_identity_t<vec<T, N>> b) { return length(a - b); }
template <class T, int N> SMTL_FUNCTION vec<T, N> normalize(vec<T, N> a) { return a * rsqrt(dot(a, a)); }
template <class T, int N>
SMTL_FUNCTION vec<T, N> faceforward(vec<T, N> n, type_identity_t<vec<T, N>> i, type_identity_t<vec<T, N>> reference) {
    return dot(reference, i) < T(0.0f) ? n : -n;
}
template <class T, int N> SMTL_FUNCTION vec<T, N> reflect(vec<T, N> i, type_identity_t<vec<T, N>> n) {
    return i - T(2.0f) * dot(n, i) * n;
}
template <class T, int N>
SMTL_FUNCTION vec<T, N> refract(vec<T, N> i, type_identity_t<vec<T, N>> n, type_identity_t<T> eta) {
    const T cosine = dot(n, i);
    const T k = T(1.0f) - eta * eta * (T(1.0f) - cosine * cosine);
    return k < T(0.0f) ? vec<T, N>(T(0.0f)) : eta * i - (eta * cosine + sqrt(k)) * n;
}

SMTL_VECTOR_FUNCTION(dot)
SMTL_VECTOR_FUNCTION(cross)
SMTL_VECTOR_FUNCTION(length_squared)
SMTL_VECTOR_FUNCTION(length)
SMTL_VECTOR_FUNCTION(distance_squared)
SMTL_VECTOR_FUNCTION(distance)
SMTL_VECTOR_FUNCTION(normalize)
SMTL_VECTOR_FUNCTION(faceforward)
SMTL_VECTOR_FUNCTION(reflect)
SMTL_VECTOR_FUNCTION(refract)

}  // namespace metal
