// `#pragma METAL` speaks to Apple's compiler. After: none is written, and what they say of contraction is said to
// clang.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

// True where one asks for a safe or relaxed math mode.
bool edit_pragmas(Source &source);

}  // namespace smtl::msl
