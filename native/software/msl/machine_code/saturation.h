// Conversions from floating-point numbers to integers, which saturate; see toolchain.cpp for the compiler's side.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

#if defined(__x86_64__)
constexpr bool expands_saturation = true;
#else
constexpr bool expands_saturation = false;  // the processor's own conversions saturate
#endif

// Clang's intermediate code with each intrinsic of such a conversion as a function of comparisons and selections. On
// x86-64 LLVM takes vectors apart for the intrinsics, at several times the cost.
std::string expand_saturation(std::string_view code);

}  // namespace smtl::msl
