// The counts of shifts, which Metal takes modulo the width of what is shifted. Clang computes a shift of one constant
// by another itself, and leaves nothing of it that define_operations (machine_code/operations.h) could bound.
//
// Before: no declaration is left to be erased; passes that put brackets around operands follow. After: each count that
// is more than a small literal is a type of its own, whose operators bound it (include/msl/shift.h).
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void edit_shift_counts(Source &source);

}  // namespace smtl::msl
