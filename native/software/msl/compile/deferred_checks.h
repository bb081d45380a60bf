// Clang's list of functions to check again, which costs each kernel more time than its own front end.
#pragma once

#include <string>

namespace smtl::msl {

// Takes the list out of a precompiled header; false if the file has none, or comes from a clang whose format this does
// not know, or cannot be written. Then the header stays as it is, and serves as well.
//
// For a device of SYCL clang notes each function with a body in the precompiled header, reads all of them again in
// every compilation that includes the header, and reports what code of a SYCL kernel must not do. A program without a
// SYCL kernel has none of these reports.
bool forget_deferred_checks(const std::string &header, int clang_version);

}  // namespace smtl::msl
