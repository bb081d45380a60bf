// Structures, classes, unions and enumerations without the semicolon behind them. What stands there is then a part of
// their declaration: `kernel` is a word in the middle of one, and a type of Metal's its second type. Every pass, and
// clang, would complain about that instead.
//
// Before: nothing has been edited. After: unless it returns true, a declaration of a type ends before the next
// declaration begins.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

bool find_unended_types(Source &source);

}  // namespace smtl::msl
