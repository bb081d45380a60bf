// From preprocessed Metal Shading Language to C++17 for clang. translate.cpp is the list of passes (passes/) that do
// it.
#pragma once

#include <string_view>

#include "msl/source/translation.h"

namespace smtl::msl {

// What the translation is for: to be executed, or to be checked as strictly as Apple's compiler does, in clang's C++
// for OpenCL, which has address spaces. What is executed has none, as long as nothing in the source depends on them.
enum class Purpose {
    execute,
    check
};

Translation translate(std::string_view preprocessed, Purpose purpose = Purpose::execute);

}  // namespace smtl::msl
