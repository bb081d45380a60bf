// Tables that arrays of a thread begin as.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code of an instrumented kernel, in which such a table has another name: AddressSanitizer does
// not guard variables whose names begin with two underscores, as Clang's name for it does. The optimiser reads the
// table where the kernel reads the array, if nothing is written to it.
std::string rename_local_tables(std::string_view code);

}  // namespace smtl::msl
