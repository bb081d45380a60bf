// From preprocessed Metal Shading Language to C++17 for clang. translate.cpp is the list of passes (passes/) that do
// it.
#pragma once

#include <string_view>

#include "msl/source/translation.h"

namespace smtl::msl {

// What the translation is for: to be executed, or to be checked as strictly as Apple's compiler does, in clang's C++
// for OpenCL. Both have address spaces, but in executed code a pointer that names none takes any other pointer.
enum class Purpose {
    execute,
    check
};

Translation translate(std::string_view preprocessed, Purpose purpose = Purpose::execute,
                      Exports exports = Exports::none);

}  // namespace smtl::msl
