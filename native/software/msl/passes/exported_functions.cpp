#include "exported_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "msl/source/declarators.h"

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

// The type of a parameter as it is spelled, without what does not tell overloads apart: its name and a default
// argument.
std::string spelled_type(const Source &source, Range range) {
    const Declarator declarator = read_parameter(source, range).declarator;
    std::string type;
    for (Index i = range.begin; i < range.end && !source[i].is("="); i = i + 1)
        if (source.opens_attribute(i))
            i = source.skip_group(i, range.end) - 1;
        else if (i != declarator.name || declarator.name == 0)
            type += std::string(source[i].text) + " ";
    return type == "void " ? "" : type;
}

using Types = std::vector<std::string>;
Types spelled_types(const Source &source, const Declaration &declaration) {
    Types types;
    if (!declaration.parameters) return types;
    for (const Range part : source.split_commas(*declaration.parameters))
        if (std::string type = spelled_type(source, part); !type.empty()) types.push_back(std::move(type));
    return types;
}

// What prototypes say of the functions that are defined elsewhere in the source. Each overload has a prototype of its
// own.
class Prototypes {
public:
    Prototypes(const Source &source, const Declarations &declarations) : source_(source) {
        for (const Declaration &declaration : declarations) {
            if (declaration.member || !declaration.parameters) continue;
            Overloads &overloads = named_[full_name(source, declaration)];
            if (declaration.kind == DeclarationKind::function)
                overloads.defined.push_back(spelled_types(source, declaration));
            else if (declaration.kind == DeclarationKind::prototype)
                if (const std::string_view written = visibility(source, declaration); !written.empty())
                    overloads.declared.push_back({spelled_types(source, declaration), written});
        }
    }

    // The visibility that the function's prototype has; empty: none is written.
    std::string_view visibility_of(const Declaration &function) const {
        const Overloads &overloads = named_.at(full_name(source_, function));
        const Types types = spelled_types(source_, function);
        for (const Declared &declared : overloads.declared)
            if (declared.types == types) return declared.visibility;
        // One type may be spelled in two ways, such as `uint` and `unsigned`: then no other function is meant.
        for (const Declared &declared : overloads.declared)
            if (declared.types.size() == types.size() && std::find(overloads.defined.begin(), overloads.defined.end(),
                                                                   declared.types) == overloads.defined.end())
                return declared.visibility;
        return {};
    }

private:
    struct Declared {
        Types types;
        std::string_view visibility;
    };
    struct Overloads {
        std::vector<Declared> declared;
        std::vector<Types> defined;
    };

    const Source &source_;
    std::map<std::string, Overloads> named_;
};

}  // namespace

void mark_exported_functions(Source &source, const Declarations &declarations, Exports exports) {
    if (exports == Exports::none || source.checking()) return;
    const Prototypes prototypes(source, declarations);
    for (const Declaration &declaration : declarations) {
        if (declaration.kind != DeclarationKind::function || declaration.body.empty() || declaration.erased ||
            declaration.kernel || declaration.member || declaration.template_parameters ||
            !has_linkage(source, declaration))
            continue;
        std::string_view written = visibility(source, declaration);
        if (written.empty()) written = prototypes.visibility_of(declaration);
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
