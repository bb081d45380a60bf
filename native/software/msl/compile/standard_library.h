// The headers that every translated source begins with, precompiled in the cache.
#pragma once

#include <string>
#include <vector>

#include "toolchain.h"

namespace smtl::msl {

// <prelude/stdlib.h>, precompiled when first asked for: the file, or empty with `errors`.
std::string standard_library(const Dialect &dialect, std::string &errors);

// Makes it again if somebody deleted it: what was compiled with it names it.
void restore_standard_library(const Dialect &dialect);

// <prelude/lint.h>, for the strict check: clang's C++ for OpenCL, whose address spaces do not convert into each other.
std::string strict_library(std::string &errors);

// Arguments of every compilation for the strict check: the first is the compiler's path.
std::vector<std::string> strict_arguments();

}  // namespace smtl::msl
