// <metal_uniform>: values that are the same in all threads of a SIMD-group, which a GPU may keep once. Here they are
// values like others.
#pragma once

#include "type_traits.h"

namespace metal {

template <class T> using uniform = T;

template <class T> constexpr uniform<T> make_uniform(T value) { return value; }

}  // namespace metal
