// Takes Metal's attributes, which clang does not know, out of what clang sees.
//
// Before: nothing is edited. After: no attribute is written but those of standard C++, and no `coherent`. The address
// spaces stay as they were: they are macros of spaces.h, and of lint.h in a source that is checked.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void erase_metal_attributes(Source &source);

}  // namespace smtl::msl
