// Bfloats on the host: hosts' libraries lack the function that compilers call to round to them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// The bfloat that is nearest to the value, as a float.
inline float to_bfloat(float value) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    if (!std::isnan(value)) bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    return std::bit_cast<float>(bits);
}
