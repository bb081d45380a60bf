// Clang never converts between its 16-bit floating-point types; Metal does so when told to. After: casts to these
// types and to template parameters, in each of their forms, are calls of a function that goes by way of float, wherever
// bfloat occurs in the source.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void edit_casts(Source &source);

}  // namespace smtl::msl
