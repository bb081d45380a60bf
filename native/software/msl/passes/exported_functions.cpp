#include "exported_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace smtl::msl {
namespace {

// `visibility("default")` in what stands before a function's name: the text with its quotes; empty: none is written.
std::string_view visibility(const Source &source, const Declaration &declaration) {
    for (Index i = declaration.begin; i + 2 < declaration.head_end; ++i)
        if ((source[i].is("visibility") || source[i].is("__visibility__")) && source[i + 1].is("("))
            return source[i + 2].text;
    return {};
}

bool has_linkage(const Source &source, const Declaration &declaration) {
    constexpr std::array<std::string_view, 4> local = {"static", "inline", "constexpr", "consteval"};
    for (Index i = declaration.begin; i < declaration.name_begin; ++i)
        if (source[i].is_one_of(local)) return false;
    const Scope &scope = *declaration.scope;
    return std::find(scope.begin(), scope.end(), "") == scope.end();
}

}  // namespace

void mark_exported_functions(Source &source, const Declarations &declarations, Exports exports) {
    if (exports == Exports::none || source.checking()) return;
    std::map<std::string, std::string_view> declared;
    for (const Declaration &declaration : declarations)
        if (declaration.kind == DeclarationKind::prototype && !declaration.member)
            if (const std::string_view written = visibility(source, declaration); !written.empty())
                declared.emplace(full_name(source, declaration), written);
    for (const Declaration &declaration : declarations) {
        if (declaration.kind != DeclarationKind::function || declaration.body.empty() || declaration.erased ||
            declaration.kernel || declaration.member || declaration.template_parameters ||
            !has_linkage(source, declaration))
            continue;
        std::string_view written = visibility(source, declaration);
        if (const auto known = declared.find(full_name(source, declaration));
            written.empty() && known != declared.end())
            written = known->second;
        const bool shown = written.empty() ? exports == Exports::all : written == "\"default\"";
        if (!shown) continue;
        Index at = declaration.begin;
        while (source.opens_attribute(at)) at = source.skip_group(at, declaration.name_begin);
        if (source[at].is("extern") && source[at + 1].kind == TokenKind::string) at += 2;
        const std::string attributes = " __attribute__((used, section(\"" + std::string(exported_section) + "\"))) ";
        if (at > 0)
            source[at - 1].appended += attributes;
        else
            source[at].replace(attributes + std::string(source[at].text));
    }
}

}  // namespace smtl::msl
