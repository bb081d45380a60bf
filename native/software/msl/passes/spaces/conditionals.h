// `c ? float4(0) : p[i]`: clang finds no type for a value of a class and one of the same class that lies in a space.
// After: the operands name no space, unless both are lvalues of one type in one space, whose result is such an lvalue.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void edit_conditionals(Source &source);

}  // namespace smtl::msl
