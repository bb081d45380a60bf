#include "known_addresses.h"

#include <cctype>
#include <set>

#include "text/lines.h"
#include "msl/include/smtl/abi.h"

namespace smtl::msl {
namespace {

constexpr std::string_view suffix = SMTL_SECOND_NAME_END;

// The length of the name that the text begins with.
std::size_t name_length(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() && (std::isalnum(static_cast<unsigned char>(text[length])) || text[length] == '_' ||
                                    text[length] == '.' || text[length] == '$'))
        ++length;
    return length;
}

// Nothing else of a kernel is aligned like its threadgroup variables.
std::set<std::string, std::less<>> threadgroup_variables(std::string_view code) {
    const std::string alignment = ", align " + std::to_string(SMTL_SANITIZED_VARIABLE_ALIGNMENT) + "\n";
    std::set<std::string, std::less<>> names;
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        if (line.starts_with("@") && line.ends_with(alignment))
            names.emplace(line.substr(1, name_length(line.substr(1))));
    }
    return names;
}

// Of what references refer to: ` dereferenceable(4)`.
void drop_dereferenceable(std::string &line) {
    constexpr std::string_view attribute = " dereferenceable(";
    for (std::size_t at = line.find(attribute); at != line.npos; at = line.find(attribute, at))
        line.erase(at, line.find(')', at) + 1 - at);
}

}  // namespace

std::string hide_known_addresses(std::string_view code) {
    const auto names = threadgroup_variables(code);
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        std::string plain(take_line(code));
        if (!plain.starts_with("@")) drop_dereferenceable(plain);
        std::string_view line = plain;
        // Functions refer to a variable; its definition and the lists of variables name it.
        for (std::size_t at = 0; !line.starts_with("@") && (at = line.find('@')) != line.npos;) {
            const std::size_t length = name_length(line.substr(at + 1));
            text += line.substr(0, at + 1 + length);
            if (names.contains(line.substr(at + 1, length))) text += suffix;
            line.remove_prefix(at + 1 + length);
        }
        text += line;
    }
    for (const std::string &name : names) {
        const std::string other = name + std::string(suffix);
        text += "@" + other + " = extern_weak hidden global i8\nmodule asm \".set " + other + ", " + name + "\"\n";
    }
    return text;
}

}  // namespace smtl::msl
