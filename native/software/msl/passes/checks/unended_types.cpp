#include "unended_types.h"

#include <array>
#include <string>
#include <string_view>

namespace smtl::msl {
namespace {

constexpr std::array<std::string_view, 4> types = {"struct", "class", "union", "enum"};
constexpr std::array<std::string_view, 11> beginnings = {
    "kernel", "vertex", "fragment", "template", "using", "typedef", "namespace", "struct", "class", "union", "enum"};
// Variables of the type may be declared with these.
constexpr std::array<std::string_view, 8> specifiers = {"static", "inline",   "constexpr",   "const",
                                                        "device", "constant", "threadgroup", "thread"};

// The brace behind the head of a type that is defined; `at` if nothing is defined there.
Index body_of(const Source &source, Index at) {
    // The type that a function returns.
    Index before = at;
    while (before > 0 && source[before - 1].is_one_of(specifiers)) --before;
    if (before > 0 && source[before - 1].is("->")) return at;
    const Index end = source.size() - 1;
    for (Index i = at + 1; i < end;) {
        const Token &token = source[i];
        if (token.is("{")) return i;
        const bool other = token.is(";") || token.is("=") || token.is(")") || token.is("}");
        const bool closes = token.is(">") && source.group_begin(i) < at;
        if (other || closes || (i > at + 1 && token.is_one_of(types))) return at;
        const bool attribute = source[i - 1].is("alignas") || source[i - 1].is("__attribute__");
        if (token.is("(") && !attribute) return at;
        i = token.is("(") || token.is("[") ? source.skip_group(i, end) : i + 1;
    }
    return at;
}

// Whether no declarator of a variable begins here, but another declaration.
bool begins_declaration(const Source &source, Index i) {
    if (source[i].is_one_of(beginnings)) return true;
    if (source.opens_attribute(i)) {
        const Index past = source.skip_group(i, source.size() - 1);
        for (Index j = i; j < past; ++j)
            if (source[j].is("kernel") || source[j].is("host_name")) return true;
        return false;
    }
    while (source[i].is_one_of(specifiers)) ++i;
    if (!source[i].is_identifier()) return false;
    return names_arithmetic_type(source[i].text) || source[i + 1].is("*") || source[i + 1].is("&");
}

}  // namespace

bool find_unended_types(Source &source) {
    bool found = false;
    for (Index i = 0; i + 1 < source.size(); ++i) {
        if (!source[i].is_one_of(types)) continue;
        const Index body = body_of(source, i);
        if (body == i) continue;
        const Index past = source.skip_group(body, source.size() - 1);
        if (!begins_declaration(source, past)) continue;
        source.problem(past - 1, "expected ';' after " + std::string(source[i].text));
        found = true;
        i = body;
    }
    return found;
}

}  // namespace smtl::msl
