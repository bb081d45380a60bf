// What translated sources refer to: the types and numbers of kernels.
#pragma once

namespace smtl {

template <class T>
struct function_pointer_to {
    using type = T *;
};
template <class T>
using function_pointer = typename function_pointer_to<T>::type;

// The n-th number, from zero on, that is not among those taken.
template <class... Taken>
constexpr unsigned automatic_index(unsigned n, Taken... taken) {
    for (unsigned candidate = 0;; ++candidate) {
        if (((candidate == unsigned(taken)) || ... || false)) continue;
        if (n-- == 0) return candidate;
    }
}

}  // namespace smtl
