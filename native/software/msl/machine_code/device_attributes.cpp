#include "device_attributes.h"

#include "lines.h"

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
        // Function constants are those of their own part of the machine code.
        if (line.starts_with("@") && line.find(" external ") == line.npos) {
            const std::string_view name = std::string_view(line).substr(0, line.find(" = "));
            for (const std::string_view linkage : {" = hidden ", " = dso_local ", " = "}) {
                const std::size_t at = line.find(linkage);
                const bool constant =
                    name.find("smtl_function_constant_") != name.npos || name.find("smtl_defined_") != name.npos;
                if (!constant || at == line.npos || line.find(" internal ") != line.npos) continue;
                line.replace(at, linkage.size(), " = internal ");
            }
        }
        text += line;
    }
    return text;
}

}  // namespace smtl::msl
