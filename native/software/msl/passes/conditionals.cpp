#include "conditionals.h"

#include <cstddef>
#include <set>
#include <string_view>

namespace smtl::msl {
namespace {

// Past the expression that begins there and that a comma, a semicolon, a bracket or the colon of a conditional around
// it ends. `end` if a `<` begins no argument list, since what it compares may not end there, or if the expression is
// longer than a real one: chains of conditionals would be looked through from each of them.
Index skip_branch(const Source &source, Index begin, Index end) {
    constexpr std::size_t longest = 1 << 11;
    std::size_t inner = 0, steps = 0;
    for (Index i = begin; i < end && steps < longest; ++steps) {
        const Token &token = source[i];
        if (token.is("(") || token.is("[") || token.is("{")) {
            i = source.skip_group(i, end);
            continue;
        }
        if (token.is("<")) {
            const auto past = source.skip_angles(i, end);
            if (!past || *past >= end || !(source[*past].is("(") || source[*past].is("::") || source[*past].is("{")))
                return end;
            i = *past;
            continue;
        }
        if (token.is(">")) return end;
        if (token.is(",") || token.is(";") || token.is(")") || token.is("]") || token.is("}") ||
            (token.is(":") && inner == 0))
            return i;
        inner += token.is("?");
        inner -= token.is(":");
        ++i;
    }
    return end;
}

std::set<std::string_view> find_bit_fields(const Source &source, const Declarations &declarations) {
    std::set<std::string_view> names;
    for (const Declaration &declaration : declarations) {
        if (declaration.kind != DeclarationKind::variable || !declaration.member) continue;
        for (Index i = declaration.begin + 1; i < declaration.end; ++i) {
            if (source[i].is(":")) names.insert(source[i - 1].text);
        }
    }
    return names;
}

}  // namespace

void edit_conditionals(Source &source, const Declarations &declarations) {
    const Index end = source.size() - 1;
    const std::set<std::string_view> bit_fields = find_bit_fields(source, declarations);
    const auto load = [&](Range operand) {
        // A literal 0 may stand for a pointer, and no reference refers to a bit-field.
        if (operand.empty() || (operand.begin + 1 == operand.end && source[operand.begin].kind == TokenKind::number) ||
            bit_fields.contains(source[operand.end - 1].text))
            return;
        source[operand.begin - 1].appended += " (::smtl::operand(), (";
        source[operand.end - 1].appended.insert(0, "))");
    };
    for (Index i = 0; i < end; ++i) {
        if (source.opens_attribute(i)) i = source.skip_group(i, end) - 1;
        if (!source[i].is("?")) continue;
        const Index colon = skip_branch(source, i + 1, end);
        if (!source[colon].is(":")) continue;
        const Index past = skip_branch(source, colon + 1, end);
        if (past == end) continue;
        load({i + 1, colon});
        load({colon + 1, past});
    }
}

}  // namespace smtl::msl
