/* The executing half of the standard library: what needs the other threads of a threadgroup, or the memory that they
 * share. */
#ifndef SMTL_EXECUTION_H
#define SMTL_EXECUTION_H

#include "bases.h"
#include "atomics.h"
#include "barriers.h"
#include "simd_sync.h"
#include "matrix.h"
#include "quad.h"
#include "simd.h"

#endif
