#include "casts.h"

#include <array>
#include <set>
#include <string_view>

namespace smtl::msl {
namespace {

using Names = std::set<std::string_view>;

// `(float)`, `(metal::half)`, `(const unsigned int)`, `(T)`.
bool is_cast(const Source &source, Index open, Index end, const Names &names) {
    constexpr std::array<std::string_view, 6> words = {"const", "volatile", "unsigned", "signed", "metal", "::"};
    if (!source[open].is("(")) return false;
    const Index close = source.skip_group(open, end) - 1;
    Index i = open + 1;
    while (i < close &&
           (source[i].is_one_of(words) || names_arithmetic_type(source[i].text) || names.contains(source[i].text)))
        ++i;
    return i == close && close > open + 1;
}

// `half(x)` with one value, where an expression stands. It begins at its name or, qualified, before.
bool is_functional_cast(const Source &source, Index begin, Index name, Index end, const Names &names) {
    if (begin < 3) return false;
    const Token &before = source[begin - 1];
    bool expression = before.is("return") || before.is("case") || before.is("else");
    if (before.is(")")) {  // `(float)half(x)`
        const bool qualified = begin > 5 && source[begin - 3].is("::") && source[begin - 4].is("metal");
        expression = (source[begin - 2].is_identifier() && source[qualified ? begin - 5 : begin - 3].is("(")) ||
                     is_cast(source, source.group_begin(begin - 1), end, names);
    } else if (before.kind == TokenKind::punctuator) {
        constexpr std::array<std::string_view, 3> access = {"public", "private", "protected"};
        expression = !before.is(":") || !source[begin - 2].is_one_of(access);
        for (const char *other : {".", "->", "::", "~", ";", "}", "]"}) expression = expression && !before.is(other);
    }
    const Index past = source.skip_group(name + 1, end);
    if (!expression || past <= name + 3) return false;
    const std::vector<Range> values = source.split_commas({name + 2, past - 1});
    if (values.size() != 1 || source[name + 2].is("&") || source[name + 2].is("{")) return false;
    // `half (*f)(half)`, `half (*)[2]`
    const bool pointer = past == name + 4 || source[past].is("(") || source[past].is("[");
    if (source[name + 2].is("*") && pointer) return false;
    // A function in a template argument list, or one that is declared: types in the parentheses, or a body behind them.
    for (Index i = name + 2; i + 1 < past;) {
        if (source[i].is("...")) return false;
        if (source[i].is_identifier() && source[i + 1].is_identifier() && !source[i].is("template")) return false;
        i = source[i].is("(") || source[i].is("[") || source[i].is("{") ? source.skip_group(i, past) : i + 1;
    }
    return !source[past].is("{");
}

// The operators that are words, which end an operand.
bool is_operator_word(const Token &token) {
    constexpr std::array<std::string_view, 9> words = {"and",    "or",     "xor",   "bitand", "bitor",
                                                       "not_eq", "and_eq", "or_eq", "xor_eq"};
    return token.is_one_of(words);
}

// Past the signs and the casts before an operand; `end` if they are more than anybody writes: each of many casts would
// look through all behind it.
Index skip_prefix(const Source &source, Index i, Index end, const Names &names) {
    constexpr std::array<std::string_view, 9> signs = {"-", "+", "!", "~", "*", "++", "--", "not", "compl"};
    constexpr int most = 64;
    for (int count = 0; i < end; ++count) {
        const Token &token = source[i];
        if (count == most) return end;
        if (token.is("(")) {
            const Index past = source.skip_group(i, end);
            const Token &behind = source[past];
            // Behind other parentheses no operand begins.
            const bool operand =
                behind.kind == TokenKind::number || (behind.is_identifier() && !is_operator_word(behind));
            if (!operand && !is_cast(source, i, end, names)) break;
            i = past;
        } else if (token.is_one_of(signs) || (token.is("&") && source[i - 1].is("*")) ||
                   (token.is("sizeof") && !source[i + 1].is("("))) {
            ++i;
        } else {
            break;
        }
    }
    return i;
}

// Past `[&](T x) -> R { ... }`, of which the parentheses and the result may be absent; `begin` where there is no body.
Index skip_lambda(const Source &source, Index begin, Index end) {
    Index i = source.skip_group(begin, end);
    if (i < end && source[i].is("(")) i = source.skip_group(i, end);
    constexpr std::array<std::string_view, 7> result = {"->", "::", "*", "&", "<", ">", ","};
    while (i < end && (source[i].is_identifier() || source[i].kind == TokenKind::number || source[i].is_one_of(result)))
        ++i;
    return i < end && source[i].is("{") ? source.skip_group(i, end) : begin;
}

// Past an operand of a cast: signs and casts before, calls, subscripts and members behind a name, a number, parentheses
// or a lambda; `begin` where none is understood.
Index skip_operand(const Source &source, Index begin, Index end, const Names &names) {
    Index i = skip_prefix(source, begin, end, names);
    if (i >= end) return begin;
    if (source[i].is("(")) {
        i = source.skip_group(i, end);
    } else if (source[i].is("[")) {
        const Index past = skip_lambda(source, i, end);
        if (past == i) return begin;
        i = past;
    } else if (source[i].is_identifier() || source[i].is("::")) {
        for (bool more = true; more && i < end;) {
            i += source[i].is("::");
            if (i >= end || !source[i].is_identifier()) return begin;
            ++i;
            if (i < end && source[i].is("<")) i = source.skip_arguments(i, end).value_or(i);
            more = i < end && source[i].is("::");
        }
    } else if (source[i].kind == TokenKind::number) {
        ++i;
    } else {
        return begin;
    }
    while (i < end) {
        const bool braces = source[i].is("{") && i > begin && (source[i - 1].is_identifier() || source[i - 1].is(">"));
        const Index name = i + (source[i + 1].is("template") ? 2 : 1);
        if (source[i].is("(") || source[i].is("[") || braces) {
            i = source.skip_group(i, end);
        } else if ((source[i].is(".") || source[i].is("->")) && name < end && source[name].is_identifier()) {
            i = name + 1;
            if (i < end && source[i].is("<")) i = source.skip_arguments(i, end).value_or(i);
        } else if (source[i].is("++") || source[i].is("--")) {
            ++i;
        } else {
            break;
        }
    }
    return i;
}

}  // namespace

void edit_casts(Source &source) {
    bool bfloat = false;
    Names names = {"half", "bfloat"};
    for (Index i = 0; i + 2 < source.size(); ++i) {
        bfloat = bfloat || source[i].text.starts_with("bfloat");
        // Other names of the two, and whatever may stand for them in a template.
        const bool parameter = i > 0 && (source[i - 1].is("<") || source[i - 1].is(","));
        if (parameter && (source[i].is("typename") || source[i].is("class")) && source[i + 1].is_identifier())
            names.insert(source[i + 1].text);
        if (source[i].is("typedef") && names.contains(source[i + 1].text) && source[i + 2].is_identifier())
            names.insert(source[i + 2].text);
        const bool alias = source[i].is("using") && source[i + 2].is("=") && i + 3 < source.size() &&
                           names.contains(source[i + 3].text);
        if (alias && source[i + 4].is(";")) names.insert(source[i + 1].text);
    }
    if (!bfloat) return;
    const Index end = source.size() - 1;
    for (Index i = 0; i + 2 < source.size(); ++i) {
        if (source[i].erased) continue;
        if (source[i].is("static_cast") && source[i + 1].is("<")) {
            const auto past = source.skip_angles(i + 1, end);
            if (!past || !source[*past].is("(") || source[*past + 1].is("{")) continue;
            bool value = true;
            for (Index j = i + 2; j < *past; ++j)
                value =
                    value && !source[j].is("*") && !source[j].is("&") && !source[j].is("&&") && !source[j].is("void");
            if (value) source[i].replace("::smtl::value_cast");
        } else if (names.contains(source[i].text) && source[i + 1].is("(")) {
            const Index begin = i >= 3 && source[i - 1].is("::") && source[i - 2].is("metal") ? i - 2 : i;
            const bool type_only =
                i + 3 < end && source[i + 3].is(")") && names.contains(source[i + 2].text);  // `half(half)`
            if (type_only || !is_functional_cast(source, begin, i, end, names)) continue;
            source[i].replace("::smtl::value_cast<" + std::string(source[i].text) + ">");
            for (Index j = begin; j < i; ++j) source[j].erase();
        } else if (const Index name = i + (source[i + 1].is("metal") && source[i + 2].is("::") ? 3 : 1);
                   i > 0 && source[i].is("(") && name + 1 < end && names.contains(source[name].text) &&
                   source[name + 1].is(")")) {
            // What stands before tells `(half)x` from the parameters of a function.
            const Token &before = source[i - 1];
            const Token &behind = source[name + 2];
            const bool compared =
                before.is(">") && !behind.is("const") &&
                (behind.is_identifier() || behind.kind == TokenKind::number || source.group_begin(i - 1) == i - 1);
            const bool sizes = before.is("...");  // `sizeof...(T)`
            const bool expression = before.kind == TokenKind::punctuator
                                        ? (!before.is(")") && !before.is("]") && !before.is(">") && !sizes) ||
                                              compared || is_cast(source, source.group_begin(i - 1), end, names)
                                        : before.is("return");
            const Index past = expression ? skip_operand(source, name + 2, end, names) : name + 2;
            if (past == name + 2) continue;
            source[i].replace("::smtl::value_cast<");
            source[name + 1].replace(">(");
            source[past - 1].appended.insert(0, ")");
        }
    }
}

}  // namespace smtl::msl
