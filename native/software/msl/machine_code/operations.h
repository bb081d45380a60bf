// What C++ leaves undefined and Metal does not: a shift takes its count modulo the width of what it shifts, and an
// integer division by zero, or of the least integer by -1, has some value.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code, before any optimisation, with each count bounded. `divides`: divisions are by one where
// they would trap, and those that clang has computed give 0; else they trap.
std::string define_operations(std::string_view code, bool divides);

}  // namespace smtl::msl
