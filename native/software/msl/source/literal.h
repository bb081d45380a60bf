// Numbers of Metal: `1.5h` and `1.5bf` are Metal's alone, and `1.5` is a float, since Metal has no double.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// The number in C++, which is the same text for most.
std::string written_literal(std::string_view text);

}  // namespace smtl::msl
