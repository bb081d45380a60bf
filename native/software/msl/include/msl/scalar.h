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
