// Clang's intermediate code of a kernel that is profiled, with calls that tell what it computes and which side of each
// branch it takes.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// The code, before any optimisation, in which the functions of the program call `smtl_count_operations` once for each
// line of each block, and `smtl_count_branch` before each branch. Library functions have no such calls: those that call
// them count what they stand for. The calls say that they touch no memory of the program, so that the optimiser leaves
// the accesses as they would be.
std::string count_operations(std::string_view code);

}  // namespace smtl::msl
