// The compiler that does the work: which clang, for which processor, with which of our headers.
#pragma once

#include <string>
#include <vector>

#include "msl.h"

namespace smtl::msl {

struct Toolchain {
    std::string clang;        // path of the program; empty: none found
    std::string fingerprint;  // of its version, the processor and our headers
    std::string headers;      // folder of the unpacked headers
    std::string problem;      // why it cannot be used

    // Found on first use.
    static const Toolchain &shared();

    // Arguments that every compilation of translated code shares.
    std::vector<std::string> compile_arguments(smtl_math_mode mode) const;
    // The precompiled standard library for a math mode, made when first asked for; empty with `errors` on failure.
    std::string standard_library(smtl_math_mode mode, std::string &errors) const;
};

}  // namespace smtl::msl
