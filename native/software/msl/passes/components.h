// Components of vectors, which are properties (include/msl/swizzle.h) that clang does not understand everywhere. If
// what is assigned depends on a template's parameters, clang 19 keeps a compound assignment that has no room for the
// types in which it is computed, and crashes over what lies behind it when it writes the precompiled library. If a free
// `operator+=` of the source may be meant, clang keeps a call, and cannot make an assignment to a property of that. If
// both operands of an operator are properties that depend on a template's parameters, clang looks for no operator of
// vectors.
//
// Components of components, `v.yzw.x`, are properties of a value that a property returned, which clang does not assign.
//
// After: a swizzle of a swizzle is one, `v.y`, unless the source declares something that is called `yzw`. In templates,
// and in sources that have such an `operator+=`, the assignment is written out, `v.x = v.x + (a)`. In templates,
// several components that stand before an operator are a value instead of a property.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void edit_components(Source &source);

}  // namespace smtl::msl
