#include "results.h"

#include <cstddef>
#include <string>

#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

constexpr std::size_t longest = 1 << 8;

// The one space that a type names, outside of template arguments, if results can lie in it.
AddressSpace space_of(const Source &source, Range type) {
    AddressSpace found = AddressSpace::none;
    for (Index i = type.begin; i < type.end; ++i) {
        if (source[i].is("<")) {
            i = source.skip_angles(i, type.end).value_or(i + 1) - 1;
            continue;
        }
        const AddressSpace space = space_named(source, i);
        if (space == AddressSpace::none) continue;
        if (found != AddressSpace::none || space == AddressSpace::thread) return AddressSpace::none;
        found = space;
    }
    return found;
}

std::string function_for(AddressSpace space, bool pointer) {
    const char *name = space == AddressSpace::device     ? "device"
                       : space == AddressSpace::constant ? "constant"
                                                         : "threadgroup";
    return std::string(" ::smtl::") + (pointer ? "to_" : "in_") + name + "(";
}

// The expression behind the token `before`, up to the semicolon or the comma behind it.
void qualify(Source &source, Index before, Index past, AddressSpace space, bool pointer) {
    if (past <= before + 1 || source[before + 1].is("{")) return;
    source[before].appended += function_for(space, pointer);
    source[past - 1].appended.insert(0, ")");
}

// Where the expression ends; its own begin if that is not plain.
Index expression_end(const Source &source, Index begin, Index end) {
    for (Index i = begin; i < end && i < begin + longest; i = source.skip_part(i, end)) {
        if (source[i].is(";") || source[i].is(",")) return i;
        if (source[i].is("<") || source[i].is(")")) break;
    }
    return begin;
}

bool calls_member(const Source &source, Index last) {
    if (!source[last].is(")")) return false;
    const Index open = source.group_begin(last);
    return open > 2 && source[open - 1].is_identifier() && (source[open - 2].is(".") || source[open - 2].is("->"));
}

void qualify_initialisers(Source &source) {
    const Index end = source.size() - 1;
    Index statement = 0;
    for (Index i = 0; i + 2 < end; ++i) {
        const Token &token = source[i];
        if (token.is(";") || token.is("{") || token.is("}") || token.is("(") || token.is(")")) statement = i + 1;
        const bool pointer = token.is("*");
        if (!(token.is("&") || pointer) || !source[i + 1].is_identifier() || source[i + 1].is("operator") ||
            !source[i + 2].is("="))
            continue;
        if (i - statement > longest) continue;
        const AddressSpace space = space_of(source, {statement, i});
        const Index past = expression_end(source, i + 3, end);
        // A variable's own type says where it lies.
        if (space == AddressSpace::none || past == i + 4 || (pointer && !calls_member(source, past - 1))) continue;
        qualify(source, i + 2, past, space, pointer);
    }
}

void qualify_returned(Source &source, const Declaration &declaration) {
    if (!declaration.parameters || declaration.body.empty() || declaration.erased || declaration.kernel) return;
    if (declaration.name_begin <= declaration.begin) return;
    const Token &last = source[declaration.name_begin - 1];
    const bool member = declaration.member || declaration.name_end > declaration.name_begin + 1;
    if (!last.is("&") && !(last.is("*") && member)) return;
    Index begin = declaration.begin;
    if (declaration.template_parameters) begin = declaration.template_parameters->end + 1;
    for (Index i = begin; i < declaration.name_begin; ++i)
        if (space_named(source, i) != AddressSpace::none && source[i].replaced) return;
    const AddressSpace space = space_of(source, {begin, declaration.name_begin});
    if (space == AddressSpace::none) return;
    for (Index i = declaration.body.begin; i < declaration.body.end; ++i) {
        if (!source[i].is("return")) continue;
        const Index past = source.skip_to_semicolon(i, declaration.body.end) - 1;
        if (member || past != i + 2) qualify(source, i, past, space, last.is("*"));
    }
}

}  // namespace

void qualify_results(Source &source, const Declarations &declarations) {
    qualify_initialisers(source);
    for (const Declaration &declaration : declarations) qualify_returned(source, declaration);
}

}  // namespace smtl::msl
