/* Reductions and prefix sums over the values of lanes, for scalars and vectors alike. */
#ifndef SMTL_REDUCE_H
#define SMTL_REDUCE_H

#include "exchange.h"

namespace smtl {

/* The components of a type: a scalar is its own, a vector's are found by its subscript operator. */
template <class T> struct components {
    using scalar = T;
    static constexpr uint32_t count = 1;
    static SMTL_INLINE T get(const T &value, uint32_t) { return value; }
    static SMTL_INLINE void set(T &value, uint32_t, T component) { value = component; }
};

template <class Vector, class T, uint32_t N> struct components_of_vector {
    using scalar = T;
    static constexpr uint32_t count = N;
    static SMTL_INLINE T get(const Vector &value, uint32_t i) { return value[i]; }
    static SMTL_INLINE void set(Vector &value, uint32_t i, T component) { value[i] = component; }
};
template <template <class> class Vector, class T, uint32_t N>
struct components<Vector<T[N]>> : components_of_vector<Vector<T[N]>, T, N> {};
template <template <class> class Packed, template <class> class Vector, class T, uint32_t N>
struct components<Packed<Vector<T[N]>>> : components_of_vector<Packed<Vector<T[N]>>, T, N> {};

/* What sums are kept in: 16-bit floats would lose digits with every lane. */
template <class T> struct accumulator {
    using type = T;
};
template <> struct accumulator<_Float16> {
    using type = float;
};
template <> struct accumulator<__bf16> {
    using type = float;
};

struct sum {
    template <class T> static SMTL_INLINE T identity() { return T(0); }
    template <class T> static SMTL_INLINE T apply(T a, T b) { return T(a + b); }
};
struct product {
    template <class T> static SMTL_INLINE T identity() { return T(1); }
    template <class T> static SMTL_INLINE T apply(T a, T b) { return T(a * b); }
};
/* The other operand where one is a NaN, as min and max of Metal. */
struct minimum {
    template <class T> static SMTL_INLINE T apply(T a, T b) { return b < a || a != a ? b : a; }
};
struct maximum {
    template <class T> static SMTL_INLINE T apply(T a, T b) { return a < b || a != a ? b : a; }
};
struct bit_and {
    template <class T> static SMTL_INLINE T apply(T a, T b) { return T(a & b); }
};
struct bit_or {
    template <class T> static SMTL_INLINE T apply(T a, T b) { return T(a | b); }
};
struct bit_xor {
    template <class T> static SMTL_INLINE T apply(T a, T b) { return T(a ^ b); }
};

/* Pairs of lanes at half the distance each time, which is how a GPU adds, and vectorises; in order where lanes are
 * missing. */
template <class Operation, class T> SMTL_INLINE T reduce_component(const T *values, uint32_t width, uint32_t active) {
    const uint32_t all = width == simd_width ? all_lanes : (1u << width) - 1;
    if (active == all) {
        T partial[simd_width];
        for (uint32_t i = 0; i < width; ++i) partial[i] = values[i];
        for (uint32_t distance = width / 2; distance > 0; distance /= 2)
            for (uint32_t i = 0; i < distance; ++i) partial[i] = Operation::apply(partial[i], partial[i + distance]);
        return partial[0];
    }
    T result = values[__builtin_ctz(active)];
    for (uint32_t rest = active & (active - 1); rest != 0; rest &= rest - 1)
        result = Operation::apply(result, values[__builtin_ctz(rest)]);
    return result;
}

/* One component of `width` neighbouring lanes, in the type that it is combined in. */
template <class T, class Sum>
SMTL_INLINE void gather_component(const smtl_exchange *exchange, uint32_t first, uint32_t width, uint32_t component,
                                  Sum *values) {
    for (uint32_t i = 0; i < width; ++i)
        values[i] = Sum(components<T>::get(value_of<T>(exchange, first + i), component));
}

/* The values of lanes [first, first + width) that took part; anything where none did, as nobody asks then. */
template <class Operation, class T>
SMTL_INLINE T reduce_lanes(const smtl_exchange *exchange, uint32_t first, uint32_t width) {
    using scalar = typename components<T>::scalar;
    using wide = typename accumulator<scalar>::type;
    const uint32_t all = width == simd_width ? all_lanes : (1u << width) - 1;
    const uint32_t active = exchange->active >> first & all;
    T result{};
    if (active == 0) return result;
    for (uint32_t c = 0; c < components<T>::count; ++c) {
        wide values[simd_width];
        gather_component<T>(exchange, first, width, c, values);
        components<T>::set(result, c, scalar(reduce_component<Operation>(values, width, active)));
    }
    return result;
}

/* For each of the lanes, the values of those before it that took part; its own included where `inclusive`. */
template <class Operation, bool inclusive, class T>
SMTL_INLINE void scan_lanes(const smtl_exchange *exchange, uint32_t first, uint32_t width, T *results) {
    using scalar = typename components<T>::scalar;
    using wide = typename accumulator<scalar>::type;
    for (uint32_t c = 0; c < components<T>::count; ++c) {
        wide running = Operation::template identity<wide>();
        for (uint32_t i = 0; i < width; ++i) {
            const bool active = exchange->active >> (first + i) & 1;
            const wide before = running;
            if (active)
                running = Operation::apply(running, wide(components<T>::get(value_of<T>(exchange, first + i), c)));
            components<T>::set(results[i], c, scalar(inclusive ? running : before));
        }
    }
}

}  // namespace smtl

#endif
