#include "nested_kernels.h"

using namespace nested_kernels;

// Launches `arguments[0]` children, and these theirs, with the function and the size that the arguments say.
kernel void spread(device queue &all [[buffer(0)]], device const launch &own [[buffer(1)]],
                   device atomic_uint *launched [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i == 0) atomic_fetch_add_explicit(launched, 1u, memory_order_relaxed);
    if (i < own.arguments[0])
        append(all, own.arguments[1], own.arguments[2], own.arguments[3], own.arguments[0], own.arguments[1],
               own.arguments[2], own.arguments[3]);
}
