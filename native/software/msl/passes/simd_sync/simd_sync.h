// The lanes of a SIMD-group run one after another here, each until it waits; on a GPU they run together, and code
// counts on it.
//
// Before: variables in threadgroup memory are allocated. After: lanes wait for each other wherever one may touch shared
// memory that another has just read or stored, and wherever they come together again behind branches, loops and choices
// in which they call functions of SIMD-groups. What all lanes execute alike is as it was.
#pragma once

#include "msl/passes/threadgroup_variables.h"
#include "msl/source/declarations.h"

namespace smtl::msl {

void synchronize_lanes(Source &source, const Declarations &declarations, const ThreadgroupVariables &variables);

}  // namespace smtl::msl
