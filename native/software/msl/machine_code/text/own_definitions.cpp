#include "own_definitions.h"

#include <algorithm>

#include "lines.h"

namespace smtl::msl {
namespace {

struct Linkage {
    std::size_t length = 0;  // of what says that others see a definition
    bool grouped = false;  // the linker keeps one of several
    bool shared = false;
};

// The linkage that a text begins with, behind `@name = ` or `define `.
Linkage linkage_of(std::string_view text, bool function) {
    Linkage linkage;
    for (const std::string_view word : {"linkonce_odr ", "weak_odr ", "dso_local ", "hidden "}) {
        if (!text.substr(linkage.length).starts_with(word)) continue;
        linkage.length += word.size();
        linkage.grouped |= word.ends_with("_odr ");
    }
    const std::string_view rest = text.substr(linkage.length);
    // The source's other functions are internal already.
    linkage.shared =
        linkage.grouped ||
        (!function && (linkage.length > 0 || rest.starts_with("global ") || rest.starts_with("constant ")));
    return linkage;
}

// `@name = ...` and `define ... @name(`: whether the name is for others.
bool is_for_others(std::string_view line) {
    std::string_view name = line.substr(std::min(line.find('@') + 1, line.size()));
    if (name.starts_with('"')) name.remove_prefix(1);
    if (!name.starts_with("smtl_")) return false;
    // Each part that is linked has values of its own.
    return !name.starts_with("smtl_function_constant_") && !name.starts_with("smtl_defined_");
}

}  // namespace

std::string without_group(std::string_view line) {
    constexpr std::string_view group = " comdat";
    const std::size_t at = line.rfind(group);
    if (at == line.npos) return std::string(line);
    std::string_view before = line.substr(0, at), behind = line.substr(at + group.size());
    if (before.ends_with(',')) before.remove_suffix(1);
    if (behind.starts_with("(")) behind.remove_prefix(behind.find(')') + 1);
    return std::string(before) += behind;
}

std::string keep_definitions_apart(std::string_view code) {
    constexpr std::string_view assigned = " = ", define = "define ";
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        const bool function = line.starts_with(define);
        const std::size_t equals = line.starts_with("@") ? line.find(assigned) : line.npos;
        const std::size_t begin = function ? define.size() : equals == line.npos ? 0 : equals + assigned.size();
        const Linkage linkage =
            begin == 0 || is_for_others(line) ? Linkage{} : linkage_of(line.substr(begin), function);
        if (!linkage.shared) {
            text += line;
            continue;
        }
        text += line.substr(0, begin);
        text += "internal ";
        const std::string_view definition = line.substr(begin + linkage.length);
        text += linkage.grouped ? without_group(definition) : definition;
    }
    return text;
}

}  // namespace smtl::msl
