// Address spaces of parameters in forms that Metal takes and clang does not.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

// For a source that is executed. After: no parameter is an array, or a value that names a space, and no `T` of a
// `thread T *` is found to be a type in another space.
void edit_parameter_spaces(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
