// Metal's scalar types.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Where half is a keyword for a type that functions cannot take, it is renamed: see lint.h.
#ifndef half
typedef _Float16 half;
#endif
typedef __bf16 bfloat;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

namespace metal {
#ifndef half
using ::half;
#endif
using ::bfloat;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
using ::ulong;
using ::ushort;
}  // namespace metal

#define SMTL_FUNCTION inline __attribute__((always_inline))

namespace smtl {

// Not constant.
SMTL_FUNCTION void count_a_width_or_more() {}

// What a source shifts by: `Shifted` is the type of what stands before the operator. Code is generated for a call, so
// that a count is never put into the instruction as a number before it is bounded. In constant expressions the call is
// what it gives, unless the compiler would take a count for the width that is more.
template <class Shifted, class T> SMTL_FUNCTION constexpr T shift_count(T count) {
    if constexpr (__is_integral(T)) {
        constexpr int width = sizeof(Shifted) > sizeof(int) ? 64 : 32;
        if (count < T(0) || (sizeof(T) > 1 && count >= T(width))) count_a_width_or_more();
    }
    return count;
}

}  // namespace smtl
