// `#pragma METAL` speaks to Apple's compiler. After: none is left, and clang's own pragmas say what they said of
// contraction.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

// True if one asks for a safe or relaxed math mode.
bool edit_pragmas(Source &source);

}  // namespace smtl::msl
