#include "numbers.h"

#include <bit>
#include <cstring>

namespace {

/* Without branches, so that the compiler makes vectors of the loops on every processor. */
inline float from_half(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, rest = (half & 0x7fffu) << 13;
    const float scaled = std::bit_cast<float>(rest) * 0x1p112f; /* right for numbers without an exponent too */
    const uint32_t special = scaled >= 65536.0f ? 0x7f800000u : 0u;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

inline uint16_t to_half(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits & 0x80000000u, rest = bits ^ sign;
    /* Adding a half rounds what is below the smallest number with an exponent. */
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
    const uint32_t normal = (rest - (112u << 23) + 0xfffu + ((rest >> 13) & 1u)) >> 13;
    const uint32_t special = rest > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t half = rest >= 0x47800000u ? special : rest < 0x38800000u ? small : normal;
    return (uint16_t)(half | sign >> 16);
}

inline float from_bfloat(uint16_t value) { return std::bit_cast<float>((uint32_t)value << 16); }

inline uint16_t to_bfloat(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);
}

template <typename stored, typename conversion>
void read(float *to, const uint8_t *from, size_t stride, size_t count, conversion convert) {
    if (stride == sizeof(stored)) {
        const stored *numbers = reinterpret_cast<const stored *>(from);
        for (size_t i = 0; i < count; ++i) to[i] = convert(numbers[i]);
    } else {
        for (size_t i = 0; i < count; ++i) to[i] = convert(*reinterpret_cast<const stored *>(from + i * stride));
    }
}

template <typename stored, typename conversion>
void write(uint8_t *to, size_t stride, const float *from, size_t count, conversion convert) {
    if (stride == sizeof(stored)) {
        stored *numbers = reinterpret_cast<stored *>(to);
        for (size_t i = 0; i < count; ++i) numbers[i] = convert(from[i]);
    } else {
        for (size_t i = 0; i < count; ++i) *reinterpret_cast<stored *>(to + i * stride) = convert(from[i]);
    }
}

template <typename stored> void read_as_is(float *to, const uint8_t *from, size_t stride, size_t count) {
    read<stored>(to, from, stride, count, [](stored number) { return (float)number; });
}

}  // namespace

void smtl_read_numbers(float *to, const uint8_t *from, uint32_t type, size_t stride, size_t count) {
    switch (type) {
    case SMTL_FLOAT32: return read_as_is<float>(to, from, stride, count);
    case SMTL_FLOAT16: return read<uint16_t>(to, from, stride, count, from_half);
    case SMTL_BFLOAT16: return read<uint16_t>(to, from, stride, count, from_bfloat);
    case SMTL_INT8: return read_as_is<int8_t>(to, from, stride, count);
    case SMTL_INT16: return read_as_is<int16_t>(to, from, stride, count);
    case SMTL_INT32: return read_as_is<int32_t>(to, from, stride, count);
    case SMTL_UINT8: return read_as_is<uint8_t>(to, from, stride, count);
    case SMTL_UINT16: return read_as_is<uint16_t>(to, from, stride, count);
    case SMTL_UINT32: return read_as_is<uint32_t>(to, from, stride, count);
    }
}

void smtl_write_numbers(uint8_t *to, uint32_t type, size_t stride, const float *from, size_t count) {
    switch (type) {
    case SMTL_FLOAT32: return write<float>(to, stride, from, count, [](float number) { return number; });
    case SMTL_FLOAT16: return write<uint16_t>(to, stride, from, count, to_half);
    case SMTL_BFLOAT16: return write<uint16_t>(to, stride, from, count, to_bfloat);
    }
}
