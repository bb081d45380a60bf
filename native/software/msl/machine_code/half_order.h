// Arithmetic of halves and bfloats in the fast mode of mathematics.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code, in which operations of halves and bfloats stay in the order of the source. Rearranged ones
// overflow with ordinary numbers: `a / b * c` becomes `a * c / b`, and halves end at 65504. Loops over threads do not
// need the freedom.
std::string keep_order_of_halves(std::string_view code);

}  // namespace smtl::msl
