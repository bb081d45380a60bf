// <metal_geometric>
#pragma once

#include "relational.h"

namespace metal {

// Halves and bfloats are computed with as floats to the end: the square of a half may be infinite as a half.
namespace smtl_detail {
template <class T, int N> using computed_vec = vec<computed_t<T>, N>;

template <class T, int N> SMTL_FUNCTION T sum_of_products(vec<T, N> a, vec<T, N> b) {
    const auto products = (a * b).native;
    if constexpr (N == 2) return products.x + products.y;
    if constexpr (N == 3) return products.x + products.y + products.z;
    if constexpr (N == 4) return (products.x + products.z) + (products.y + products.w);
}
template <class T, int N> SMTL_FUNCTION computed_t<T> squared(vec<T, N> a) {
    const computed_vec<T, N> x(a);
    return sum_of_products(x, x);
}
template <class T, int N> SMTL_FUNCTION computed_vec<T, N> difference(vec<T, N> a, vec<T, N> b) {
    return computed_vec<T, N>(a) - computed_vec<T, N>(b);
}
}  // namespace smtl_detail

template <class T, int N> SMTL_FUNCTION T dot(vec<T, N> a, smtl_type_identity_t<vec<T, N>> b) {
    using V = smtl_detail::computed_vec<T, N>;
    return T(smtl_detail::sum_of_products(V(a), V(b)));
}
template <class T> SMTL_FUNCTION vec<T, 3> cross(vec<T, 3> a, smtl_type_identity_t<vec<T, 3>> b) {
    const smtl_detail::computed_vec<T, 3> x(a), y(b);
    return vec<T, 3>(x.yzx * y.zxy - x.zxy * y.yzx);
}
template <class T, int N> SMTL_FUNCTION T length_squared(vec<T, N> a) { return T(smtl_detail::squared(a)); }
template <class T, int N> SMTL_FUNCTION T length(vec<T, N> a) { return T(sqrt(smtl_detail::squared(a))); }
template <class T, int N> SMTL_FUNCTION T distance_squared(vec<T, N> a, smtl_type_identity_t<vec<T, N>> b) {
    return T(smtl_detail::squared(smtl_detail::difference(a, b)));
}
template <class T, int N> SMTL_FUNCTION T distance(vec<T, N> a, smtl_type_identity_t<vec<T, N>> b) {
    return T(sqrt(smtl_detail::squared(smtl_detail::difference(a, b))));
}
template <class T, int N> SMTL_FUNCTION vec<T, N> normalize(vec<T, N> a) {
    return vec<T, N>(smtl_detail::computed_vec<T, N>(a) * rsqrt(smtl_detail::squared(a)));
}
template <class T, int N>
SMTL_FUNCTION vec<T, N> faceforward(vec<T, N> n, smtl_type_identity_t<vec<T, N>> i,
                                    smtl_type_identity_t<vec<T, N>> reference) {
    return dot(reference, i) < T(0.0f) ? n : -n;
}
template <class T, int N> SMTL_FUNCTION vec<T, N> reflect(vec<T, N> i, smtl_type_identity_t<vec<T, N>> n) {
    const smtl_detail::computed_vec<T, N> x(i), y(n);
    return vec<T, N>(x - 2.0f * dot(y, x) * y);
}
template <class T, int N>
SMTL_FUNCTION vec<T, N> refract(vec<T, N> i, smtl_type_identity_t<vec<T, N>> n, smtl_type_identity_t<T> eta) {
    using C = smtl_detail::computed_t<T>;
    const vec<C, N> x(i), y(n);
    const C ratio = C(eta), cosine = dot(y, x);
    const C k = 1.0f - ratio * ratio * (1.0f - cosine * cosine);
    return vec<T, N>(k < 0.0f ? vec<C, N>(0.0f) : ratio * x - (ratio * cosine + sqrt(k)) * y);
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
