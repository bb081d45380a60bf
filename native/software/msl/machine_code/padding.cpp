#include "padding.h"

#include "text/lines.h"

namespace smtl::msl {

std::string define_padding(std::string_view code) {
    constexpr std::string_view operation = " = shufflevector <3 x ", poisoned = "<i32 0, i32 1, i32 2, i32 poison>";
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        std::string_view line = take_line(code);
        const std::size_t mask = line.find(operation) == line.npos ? line.npos : line.find(poisoned);
        if (mask != line.npos) {
            (text += line.substr(0, mask)) += "<i32 0, i32 1, i32 2, i32 2>";
            line.remove_prefix(mask + poisoned.size());
        }
        text += line;
    }
    return text;
}

}  // namespace smtl::msl
