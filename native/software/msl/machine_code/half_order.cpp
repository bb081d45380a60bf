#include "half_order.h"

#include <algorithm>
#include <array>

#include "text/lines.h"

namespace smtl::msl {
namespace {

constexpr std::string_view reassociated = "reassoc ";

// Whether the type behind an operation's flags is a half, a bfloat or a vector of them: `half`, `<4 x half>`.
bool is_narrow(std::string_view rest) {
    constexpr std::array<std::string_view, 8> flags = {"reassoc", "nnan",     "ninf", "nsz",
                                                       "arcp",    "contract", "afn",  "fast"};
    for (;;) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        if (word.size() == rest.size()) return false;
        if (std::find(flags.begin(), flags.end(), word) == flags.end()) break;
        rest.remove_prefix(word.size() + 1);
    }
    if (rest.starts_with('<')) rest.remove_prefix(std::min(rest.find(" x ") + 3, rest.size()));
    return rest.starts_with("half") || rest.starts_with("bfloat");
}

}  // namespace

std::string keep_order_of_halves(std::string_view code) {
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        const std::size_t at = line.starts_with("  %") ? line.find(reassociated) : std::string_view::npos;
        if (at == std::string_view::npos || !is_narrow(line.substr(at))) {
            text += line;
            continue;
        }
        text += line.substr(0, at);
        text += line.substr(at + reassociated.size());
    }
    return text;
}

}  // namespace smtl::msl
