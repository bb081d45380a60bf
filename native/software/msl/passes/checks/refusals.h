// What clang would understand and Metal does not have: ways to machine code that a processor would run as a pipeline is
// made, and to what lies outside of the source. Attributes and pragmas are let through by name, so nothing new of a
// later clang passes.
//
// Before: the source is preprocessed, so that no macro can still spell a word in another way. After: each such word is
// a problem, and pragmas that no compiler knows are blank.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

void refuse_what_metal_has_not(Source &source);

}  // namespace smtl::msl
