// The members of types that have values. Each object has its own, which may differ from lane to lane.
#include <algorithm>

#include "lane_functions.h"
#include "msl/source/declarators.h"

namespace smtl::msl {
namespace {

void add(std::string_view name, Index dimensions, LaneFunctions &lanes) {
    Index &most = lanes.fields[name];
    most = std::max(most, dimensions);
}

// What is not understood may be a field, and an array, with any of its names.
void add_all(const Source &source, Range range, LaneFunctions &lanes) {
    constexpr Index any = 16;
    for (Index i = range.begin; i < range.end; ++i) {
        if (source[i].is_identifier() && !names_arithmetic_type(source[i].text)) add(source[i].text, any, lanes);
    }
}

// `uint (a);` and `void (*f)(uint);` are read as functions.
bool may_be_field(const Source &source, const Declaration &declaration) {
    const Range inner = *declaration.parameters;
    const Token &first = source[inner.begin];
    return declaration.kind == DeclarationKind::prototype && !inner.empty() &&
           (inner.begin + 1 == inner.end || first.is("*") || first.is("&") || first.is("&&") || first.is("(") ||
            first.is("::") || source[inner.begin + 1].is("::"));
}

}  // namespace

void find_fields(const Source &source, const Declaration &declaration, LaneFunctions &lanes) {
    const Range whole{declaration.begin, declaration.end};
    if (declaration.parameters) {
        if (may_be_field(source, declaration)) add_all(source, whole, lanes);
        return;
    }
    if (declaration.kind == DeclarationKind::type) {  // `struct { uint a; } b;`
        if (!declaration.body.empty()) add_all(source, {declaration.body.end, whole.end}, lanes);
        return;
    }
    if (declaration.kind != DeclarationKind::variable) return;
    for (Index i = whole.begin; i < declaration.head_end; ++i) {
        if (source[i].is("constexpr")) return;  // one value for all objects
    }
    const Index end = source[whole.end - 1].is(";") ? whole.end - 1 : whole.end;
    Specifiers specifiers;
    for (Index i = read_specifiers(source, whole.begin, end, specifiers); i < end; ++i) {
        Declarator declarator;
        const Index begin = i, past = read_declarator(source, i, end, declarator);
        if (declarator.name == 0) return add_all(source, {begin, end}, lanes);
        Index dimensions = 0, suffix = declarator.name + 1;
        for (; suffix < end && source[suffix].is("["); suffix = source.skip_group(suffix, end))
            dimensions += !source.opens_attribute(suffix);
        add(source[declarator.name].text, std::max<Index>(dimensions, declarator.array), lanes);
        i = std::max(past, begin);
    }
}

}  // namespace smtl::msl
