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
        text += line;
    }
    return text;
}

std::string keep_function_constants_apart(std::string_view code) {
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        constexpr std::string_view assigned = " = ";
        const std::size_t equals = line.starts_with("@") ? line.find(assigned) : line.npos;
        const std::string_view name = line.substr(0, equals == line.npos ? 0 : equals);
        const bool is_constant =
            name.find("smtl_function_constant_") != name.npos || name.find("smtl_defined_") != name.npos;
        if (!is_constant || line.find(" external ") != line.npos || line.find(" internal ") != line.npos) {
            text += line;
            continue;
        }
        std::string_view definition = line.substr(equals + assigned.size());
        for (const std::string_view linkage : {"hidden ", "dso_local "})
            if (definition.starts_with(linkage)) definition.remove_prefix(linkage.size());
        ((text += name) += " = internal ") += definition;
    }
    return text;
}

}  // namespace smtl::msl
