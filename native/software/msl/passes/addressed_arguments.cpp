#include "addressed_arguments.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace smtl::msl {
namespace {

using Names = std::set<std::string_view, std::less<>>;

// `&name`, `&(name)`, `addressof(name)`
bool takes_address(const Source &source, Index name) {
    Index begin = name;
    while (begin > 2 && source[begin - 1].is("(")) --begin;
    if (begin < name && source[begin - 1].is("addressof")) return true;
    return source[begin - 1].is("&") && !ends_operand(source[begin - 2]);
}

// `T &name`
bool declares_reference(const Source &source, Index name) {
    constexpr std::array<std::string_view, 5> ends = {",", ")", "=", "{", "["};
    return source[name].is_identifier() && source[name - 1].is("&") && ends_operand(source[name - 2]) &&
           source[name + 1].is_one_of(ends);
}

// Whether it takes the address of a reference that any function has, or of a member.
bool takes_address_of_reference(const Source &source, const Declarations &declarations) {
    Names references, addressed;
    for (const Declaration &declaration : declarations) {
        const bool field = declaration.member && declaration.kind == DeclarationKind::variable;
        for (Index i = declaration.begin; field && i < declaration.end; ++i) references.insert(source[i].text);
    }
    for (Index i = 2; i + 1 < source.size(); ++i) {
        if (!source[i].is_identifier()) continue;
        if (takes_address(source, i)) addressed.insert(source[i].text);
        if (declares_reference(source, i)) references.insert(source[i].text);
    }
    return std::any_of(addressed.begin(), addressed.end(),
                       [&](std::string_view name) { return references.contains(name); });
}

}  // namespace

AddressedArguments::AddressedArguments(const Source &source, const Declarations &declarations)
    : source_(source), references_addressed_(takes_address_of_reference(source, declarations)) {}

void AddressedArguments::mark(Range body, std::vector<KernelParameter> &parameters) const {
    constexpr std::array<std::string_view, 4> ends = {",", ")", ";", "}"};
    Names names;
    for (Index i = body.begin + 1; i + 1 < body.end; ++i) {
        const Token &before = source_[i - 1];
        if (!source_[i].is_identifier() || before.is(".") || before.is("->")) continue;
        const bool whole = source_[i + 1].is_one_of(ends),
                   object = source_[i + 1].is(".") && i + 3 < body.end && source_[i + 3].is("(");
        if (takes_address(source_, i) || (references_addressed_ && (whole || object))) names.insert(source_[i].text);
    }
    for (KernelParameter &parameter : parameters) parameter.addressed = names.contains(parameter.name);
}

}  // namespace smtl::msl
