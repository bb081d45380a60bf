// Numbers of Metal.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

// After: no literal is written that only Metal has, and none without a suffix is a double.
void edit_literals(Source &source);

// Reports the word: Metal has no such type.
void reject_double(Source &source);

}  // namespace smtl::msl
