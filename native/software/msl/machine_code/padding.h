// What C++ leaves undefined and Metal does not: vectors of three have a fourth component in memory.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code, before any optimisation, in which that component is a copy of the third. Clang stores it
// as poison, and copies and passes such vectors as whole integers, in which one poisoned bit poisons all.
std::string define_padding(std::string_view code);

}  // namespace smtl::msl
