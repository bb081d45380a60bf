// Address spaces in places where Metal takes them and clang takes other qualifiers.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

// Before: the spaces of members' objects stand behind their parameters. After: they do not, and members that Metal
// deletes for objects in one space are erased.
void qualify_members(Source &source, Declarations &declarations);

// For a source that is executed and keeps its spaces. After: no parameter is an array, or a value that names a space,
// and no `T` of a `thread T *` is found to be a type in another space.
void qualify_parameters(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
