// Clang's intermediate code, line by line.
#pragma once

#include <algorithm>
#include <string_view>

namespace smtl::msl {

// The first line of a text that is not empty, with its end; the text begins behind it then.
inline std::string_view take_line(std::string_view &text) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    return line;
}

}  // namespace smtl::msl
