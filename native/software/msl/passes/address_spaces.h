// Takes address spaces and Metal's attributes out of what clang sees.
//
// Before: nothing is edited. After: no attribute is written that clang does not know. Executed, `constant` is written
// as `const` and no other space is written; a source that keeps its spaces has macros of spaces.h for them. Checked,
// the spaces stay as they were.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void erase_address_spaces_and_attributes(Source &source);

}  // namespace smtl::msl
