// Metal's scalar types.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef _Float16 half;
typedef __bf16 bfloat;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define SMTL_FUNCTION inline __attribute__((always_inline))
