// The order in which the values of the program's variables are computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code with one initialiser for all variables, in which each variable comes after those that its
// value is made of. Clang itself orders variables of a precompiled header by how it comes across them, and those of
// templates in no way. Nothing where a value hangs on itself.
std::optional<std::string> order_initialisers(std::string_view code);

}  // namespace smtl::msl
