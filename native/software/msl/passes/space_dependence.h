// Whether address spaces could decide what a source means. Where they are erased, clang chooses among the overloads
// that are left without them, and takes `device T *` and `thread T *` for one type.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

// Before: of declarations that are one and the same once spaces are erased, all but the first are `erased`. True if
// overloads could take one argument in different address spaces, or if a template argument or a specialisation is a
// pointer or reference with an address space.
bool depends_on_spaces(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
