// The order in which the values of the program's variables are computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code with one initialiser for all variables, in which each variable comes after those that its
// value is made of. Clang orders the variables of a precompiled header as it meets them, and does not order those
// of templates. Nothing if a value depends on itself.
std::optional<std::string> order_initialisers(std::string_view code);

}  // namespace smtl::msl
