// `float get() const device`: a member for objects in one address space. Clang has none such, so that each member
// serves objects in every space, as those of our library do.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

// Before: the spaces of members' objects stand behind their parameters. After: they do not. Of members that differ in
// nothing else, the first is left; that they say different things is an error. Members that Metal deletes for objects
// in one space are erased.
void merge_members(Source &source, Declarations &declarations);

}  // namespace smtl::msl
