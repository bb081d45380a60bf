// Where the values of the program's variables are computed.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// An attribute of functions in which stores are not made one call, which the optimiser would not compute either.
constexpr std::string_view stores_apart = "\"no-builtin-memset\"";

// Clang's intermediate code in which an initialiser computes its variable's value in a local variable, and stores it
// part by part at the end. The optimiser takes local variables apart; it does not compute a variable that other memory
// is copied to, which is how clang copies vectors and structures.
std::string compute_values_locally(std::string_view code);

}  // namespace smtl::msl
