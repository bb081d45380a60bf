// Function constants: `constant bool flag [[function_constant(3)]];`. Code generation for one kernel defines their
// values.
//
// Before: each variable of the declaration has an attribute and no initialiser. After: each is declared `extern`,
// beside a variable that says whether it is defined; `translation` lists it, and `constants` knows it.
#pragma once

#include "conditions.h"

namespace smtl::msl {

void declare_function_constants(Source &source, const Declaration &declaration, ProgramConstants &constants,
                                Translation &translation);

}  // namespace smtl::msl
