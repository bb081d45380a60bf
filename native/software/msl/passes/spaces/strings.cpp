#include "strings.h"

#include <vector>

namespace smtl::msl {
namespace {

bool begins_block(const Source &source, Index brace) {
    if (brace == 0) return true;
    const Token &before = source[brace - 1];
    return before.is(")") || before.is(";") || before.is("{") || before.is("}") || before.is("else") ||
           before.is("do") || before.is(":");
}

// The declaration that ends with `past` declares arrays of numbers: what stands in its braces initialises these.
bool declares_array(const Source &source, Index past) {
    constexpr Index longest = 1 << 8;
    bool array = false, character = false;
    for (Index i = past; i-- > 0 && past - i < longest;) {
        const Token &token = source[i];
        if (token.is(";") || token.is("{") || token.is("}") || token.is("(") || token.is("*"))
            return array && character;
        array = array || token.is("]");
        character = character || token.is("char") || token.is("uchar") || token.is("int8_t") || token.is("uint8_t");
    }
    return array && character;
}

// Where the declaration ends that the string or the braces around it initialise; the string itself if there is none.
Index initialised_by(const Source &source, Index string, const std::vector<Index> &open) {
    constexpr std::size_t deepest = 64;
    Index outer = string;
    for (std::size_t depth = open.size(); depth > 0 && source[open[depth - 1]].is("{"); --depth) {
        if (open.size() - depth > deepest) return string;
        const Index brace = open[depth - 1];
        const bool inner =
            depth > 1 && source[open[depth - 2]].is("{") && (source[brace - 1].is("{") || source[brace - 1].is(","));
        if (!inner && begins_block(source, brace)) break;
        outer = brace;
    }
    return source[outer - 1].is("=") ? outer - 1 : outer;
}

// The name of the function around it is a string, too.
bool is_function_name(const Token &token) {
    return token.is("__func__") || token.is("__FUNCTION__") || token.is("__PRETTY_FUNCTION__");
}

// Clang's built-in functions take its own strings (NAN is `__builtin_nanf("")`), and so do its attributes.
bool is_value(const Source &source, Index first, Index last) {
    const Token &before = source[first - 1];
    const bool builtin = before.is("(") && first > 1 && source[first - 2].text.starts_with("__");
    const bool operand = before.is("sizeof") || before.is("*") || source[last + 1].is("[");
    const char begin = source[first].text[0];
    const bool characters = begin == '"' || begin == 'R' || is_function_name(source[first]);
    return characters && !builtin && !operand && !before.is("extern") && !before.is("operator");
}

}  // namespace

void qualify_strings(Source &source) {
    const Index end = source.size() - 1;
    std::vector<Index> open;
    for (Index i = 0; i < end; ++i) {
        const Token &token = source[i];
        if (source.opens_attribute(i)) {
            i = source.skip_group(i, end) - 1;
            continue;
        }
        if (token.is("static_assert") || token.is("_Static_assert") || token.is("__attribute__")) {
            i = source.skip_group(i + 1, end) - 1;
            continue;
        }
        if (token.is("(") || token.is("[") || token.is("{")) open.push_back(i);
        if ((token.is(")") || token.is("]") || token.is("}")) && !open.empty()) open.pop_back();
        const bool is_name = is_function_name(token);
        if ((token.kind != TokenKind::string && !is_name) || i == 0) continue;
        Index last = i;
        while (!is_name && source[last + 1].kind == TokenKind::string) ++last;
        const Index initialised = initialised_by(source, i, open);
        if (is_value(source, i, last) && (initialised == i || !declares_array(source, initialised)))
            source[last].appended.insert(0, "->*::smtl::constant_text");
        i = last;
    }
}

}  // namespace smtl::msl
