/* Vectors and matrices for programs, under the names that they share with their shaders: see docs/software-metal.md. */
#ifndef SMTL_SIMD_SIMD_H
#define SMTL_SIMD_SIMD_H

#include <simd/common.h>
#include <simd/conversion.h>
#include <simd/cplusplus.h>
#include <simd/geometry.h>
#include <simd/matrix.h>
#include <simd/matrix_types.h>
#include <simd/packed.h>
#include <simd/vector_make.h>
#include <simd/vector_types.h>

#endif
