#include "device_attributes.h"

#include "text/lines.h"

namespace smtl::msl {

std::string drop_device_attributes(std::string_view code) {
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        std::string line(take_line(code));
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
