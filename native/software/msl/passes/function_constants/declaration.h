// Function constants: `constant bool flag [[function_constant(3)]];`. Code generation for one kernel defines their
// values.
//
// Before: the variable is declared with an attribute and has no initialiser. After: it is declared `extern`, beside a
// variable that says whether it is defined; `translation` lists it, and `constants` knows it.
#pragma once

#include "conditions.h"
#include "msl/source/attributes.h"

namespace smtl::msl {

void declare_function_constant(Source &source, const Declaration &declaration, const Attribute &attribute,
                               ProgramConstants &constants, Translation &translation);

}  // namespace smtl::msl
