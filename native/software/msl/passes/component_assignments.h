// Compound assignments to components of vectors. Components are properties (include/msl/swizzle.h). Where what is
// assigned depends on a template's parameters, clang 19 keeps an assignment that has no room for the types in which it
// is computed, and crashes over what lies behind it when it writes the precompiled library; where a free `operator+=`
// of the source may be meant, it keeps a call, and cannot make an assignment to a property of it. After: in templates,
// and in sources that have such an operator, it is written out, `v.x = v.x + (a)`.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void edit_component_assignments(Source &source);

}  // namespace smtl::msl
