// For a source that is checked, which clang reads as C++ for OpenCL.
//
// Before: what other passes have written is marked as replaced, and stays. After: each word of C++ that Metal does not
// have is a problem, no name is a keyword of OpenCL, and templates take references to functions instead of pointers.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void check_keywords(Source &source);

}  // namespace smtl::msl
