// What C++ leaves undefined and Metal does not: a shift takes its count modulo the width of what it shifts.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code, before any optimisation, with each count bounded.
std::string bound_shifts(std::string_view code);

}  // namespace smtl::msl
