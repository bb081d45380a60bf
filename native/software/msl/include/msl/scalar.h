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

#define SMTL_FUNCTION inline __attribute__((always_inline))
