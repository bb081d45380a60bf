// `c ? float4(0) : p[i]`: clang finds no type for a value of a class and one of the same class that lies in a space.
// After: the operands name no space, unless the result is to be a place in one: `&(c ? a : b)`, `device T &r = c ? a :
// b`.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

void edit_conditionals(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
