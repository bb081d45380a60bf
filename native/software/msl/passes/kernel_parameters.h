// What a host has to give a kernel.
#pragma once

#include <vector>

#include "msl/source/source.h"

namespace smtl::msl {

// Reads what stands between the parentheses. `report`: problems are reported where a kernel is defined, not again at
// its instantiations.
std::vector<KernelParameter> read_parameters(Source &source, Range parameters, bool report);

}  // namespace smtl::msl
