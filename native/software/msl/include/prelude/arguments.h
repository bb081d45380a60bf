// Arguments of kernels whose types are the library's.
#pragma once

#include <smtl/entry.h>

#include <msl/array.h>

namespace smtl {

// An array of pointers is an argument of as many buffers as it has elements.
template <class T, size_t N> struct buffer_array<metal::array<T *, N>> {
    using element = T *;
    static constexpr unsigned length = N;
};

}  // namespace smtl
