// Functions and specialisations that differ in address spaces alone are one and the same once these are erased.
//
// Before: `declarations` holds all that the source declares. After: of declarations whose bodies say the same too, only
// the first is left; members of a type that is erased are gone from `declarations`.
#pragma once

#include "msl/source/declarations.h"
#include "threadgroup_variables.h"

namespace smtl::msl {

// True if bodies say different things, so that the whole source has to keep its address spaces.
bool erase_duplicates(Source &source, Declarations &declarations, const ThreadgroupVariables &variables);

}  // namespace smtl::msl
