// `bump(&tile[i])`, `tile.data() + i`, where `tile` is an `array<T, N>` in a named address space: its members find it
// without the space, so that overloads, template arguments and `auto` would not see where its elements lie.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

// Before: no swizzle is edited, since these edits stand around those. After: what may be an `array<T, N>`, by the names
// in the source, is an argument of a function (include/msl/array.h) wherever a reference or a pointer may be made from
// an element. The function keeps the space of an array, and does nothing to all else.
void qualify_elements(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
