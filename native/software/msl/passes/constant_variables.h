// Variables in the constant address space, and function constants, of which code generation for one kernel defines the
// values.
//
// Before: declarations that say the same are erased. After: clang initialises members in the constant address space,
// and `translation` lists the function constants, which are declared and not defined. Checked, clang's word names the
// space.
#pragma once

#include "function_constant_conditions.h"

namespace smtl::msl {

ProgramConstants edit_constant_variables(Source &source, const Declarations &declarations, Translation &translation);

}  // namespace smtl::msl
