// Compound assignments to components of vectors. Components are properties (include/msl/swizzle.h), and where a
// template's `v.x += a` meets a free `operator+=` of the source, clang keeps it as a call of an operator and then
// cannot make an assignment to a property of it. After: in sources that have such an operator it is written out, `v.x =
// v.x + (a)`.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void edit_component_assignments(Source &source);

}  // namespace smtl::msl
