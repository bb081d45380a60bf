// A string of Metal lies in constant memory: `constant char *name = "x";`. Clang's lies in no address space.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

// For a source that is executed. After: each string that is a value, and does not initialise an array, lies there.
void qualify_strings(Source &source);

}  // namespace smtl::msl
