// Addresses that the optimiser knows to be readable.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code of an instrumented kernel, in which nobody knows that variables of a threadgroup can be
// read at any time: the code refers to them by other names, as to variables that may not be there. Where the optimiser
// knows, it makes of `c ? a : b` two reads and a choice, and the sanitizer would report a read that the kernel does not
// make.
std::string hide_known_addresses(std::string_view code);

}  // namespace smtl::msl
