// What clang says of functions and variables of a device of SYCL, and what a kernel has no use for.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code without `convergent` and `norecurse`. The first keeps the optimiser from duplicating calls,
// for devices that run all lanes as one; here each thread of the grid runs by itself until it waits for others.
std::string drop_device_attributes(std::string_view code);

}  // namespace smtl::msl
