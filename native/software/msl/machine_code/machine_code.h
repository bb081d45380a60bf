// Object files, by way of clang's intermediate code.
#pragma once

#include <string>

#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"

namespace smtl::msl {

// Of the source in the file `folder`/input on top of the library in the folder `precompiled`. Where the value of a
// variable of the program hangs on itself, `errors` are not_computed. `initialises`: there are variables whose values
// the optimiser computes.
ProcessResult compile_object(const Dialect &dialect, const std::string &precompiled, const std::string &folder,
                             const std::string &object, bool initialises);

}  // namespace smtl::msl
