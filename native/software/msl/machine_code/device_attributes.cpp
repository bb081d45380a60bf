#include "device_attributes.h"

#include <algorithm>

namespace smtl::msl {

std::string drop_device_attributes(std::string_view code) {
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        const std::size_t end = std::min(code.find('\n'), code.size() - 1) + 1;
        std::string line(code.substr(0, end));
        code.remove_prefix(end);
        if (line.starts_with("attributes #")) {
            for (const std::string_view attribute : {" convergent ", " norecurse "}) {
                const std::size_t at = line.find(attribute);
                if (at != line.npos) line.erase(at, attribute.size() - 1);
            }
        }
        text += line;
    }
    return text;
}

}  // namespace smtl::msl
