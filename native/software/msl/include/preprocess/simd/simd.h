// <simd/simd.h>: the vector types are in the precompiled standard library.
