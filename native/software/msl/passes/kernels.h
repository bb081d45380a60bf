// Kernel functions, kernel templates and their explicit instantiations.
//
// Before: their heads are those of functions of C++. After: `translation` lists the kernels, and for each the source
// has the declarations by which the rest of the compiler finds it.
#pragma once

#include "function_constants/conditions.h"
#include "msl/source/declarations.h"

namespace smtl::msl {

void define_kernels(Source &source, const Declarations &declarations, ProgramConstants &constants,
                    Translation &translation);

}  // namespace smtl::msl
