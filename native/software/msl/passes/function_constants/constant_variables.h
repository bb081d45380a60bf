// Variables in the constant address space. Those with [[function_constant]] go to declaration.h.
//
// Before: declarations that say the same are erased. After: clang initialises members in the constant address space,
// and the result knows the constants that conditions may name. If the source is only checked, clang's word for the
// space is written.
#pragma once

#include "conditions.h"

namespace smtl::msl {

ProgramConstants edit_constant_variables(Source &source, const Declarations &declarations, Translation &translation);

}  // namespace smtl::msl
