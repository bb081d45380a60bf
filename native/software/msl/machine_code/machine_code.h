// Makes object files from clang's intermediate code.
#pragma once

#include <string>

#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"

namespace smtl::msl {

// Compiles the file `folder`/input on top of the library in the folder `precompiled`. If the value of a variable of the
// program depends on itself, `errors` are not_computed. `initialises`: the optimiser computes the values of some
// variables. `exports`: other object files call its functions: see external_functions.h.
ProcessResult compile_object(const Dialect &dialect, const std::string &precompiled, const std::string &folder,
                             const std::string &object, bool initialises, bool exports = false);

}  // namespace smtl::msl
