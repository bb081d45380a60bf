// Compound assignments to components of vectors. Components are properties (include/msl/swizzle.h). If what is assigned
// depends on a template's parameters, clang 19 keeps an assignment that has no room for the types in which it is
// computed, and crashes over what lies behind it when it writes the precompiled library. If a free `operator+=` of the
// source may be meant, clang keeps a call, and cannot make an assignment to a property of that. After: in templates,
// and in sources that have such an operator, the assignment is written out, `v.x = v.x + (a)`.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void edit_component_assignments(Source &source);

}  // namespace smtl::msl
