// What compiled code calls without being told to: conversions that the processor lacks. The host's C library has the
// rest.
#pragma once

#ifdef __x86_64__
extern "C" {
__attribute__((used, visibility("hidden"))) inline __bf16 __truncsfbf2(float value) {
    unsigned bits = __builtin_bit_cast(unsigned, value);
    // To the nearest, ties to even; a NaN stays one.
    bits = value != value ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
    return __builtin_bit_cast(__bf16, static_cast<unsigned short>(bits >> 16));
}
}
#endif
