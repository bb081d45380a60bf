// What translated sources refer to: the types and numbers of kernels.
#pragma once

#include "type_traits.h"

namespace smtl {

template <class T>
struct function_pointer_to {
    using type = T *;
};
template <class T>
using function_pointer = typename function_pointer_to<T>::type;

// static_cast for values, between any two arithmetic types.
template <class To, class From>
inline __attribute__((always_inline)) constexpr To value_cast(From value) {
    constexpr bool sixteen_bits = (metal::is_same_v<From, half> && metal::is_same_v<metal::remove_cv_t<To>, bfloat>) ||
                                  (metal::is_same_v<From, bfloat> && metal::is_same_v<metal::remove_cv_t<To>, half>);
    if constexpr (sixteen_bits) {
        return static_cast<To>(static_cast<float>(value));
    } else {
        return static_cast<To>(value);
    }
}

// The n-th number, from zero on, that is not among those taken.
template <class... Taken>
constexpr unsigned automatic_index(unsigned n, Taken... taken) {
    for (unsigned candidate = 0;; ++candidate) {
        if (((candidate == unsigned(taken)) || ... || false)) continue;
        if (n-- == 0) return candidate;
    }
}

}  // namespace smtl
