// For a source that is checked: words that Metal does not have are errors, and names that are keywords of OpenCL, as
// which clang reads the source, are written otherwise.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void check_keywords(Source &source);

}  // namespace smtl::msl
