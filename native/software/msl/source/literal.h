// Literals: numbers of Metal and strings.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// The number in C++, which is the same text for most: `1.5h` and `1.5bf` are Metal's alone, and `1.5` is a float, since
// Metal has no double.
std::string written_literal(std::string_view text);

// What stands between the quotation marks of a string, raw ones included; escape sequences stay as they are.
std::string_view string_contents(std::string_view text);

}  // namespace smtl::msl
