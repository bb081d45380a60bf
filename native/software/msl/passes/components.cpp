#include "components.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace smtl::msl {
namespace {

// With the functions of the library that do the same.
const std::map<std::string_view, std::string> &compound_assignments() {
    static const std::map<std::string_view, std::string> operators = {
        {"+=", "added"},         {"-=", "subtracted"},    {"*=", "multiplied"}, {"/=", "divided"},
        {"%=", "remainder"},     {"&=", "both_bits"},     {"|=", "any_bits"},   {"^=", "differing_bits"},
        {"<<=", "shifted_left"}, {">>=", "shifted_right"}};
    return operators;
}

bool is_compound_assignment(const Token &token) {
    return token.kind == TokenKind::punctuator && compound_assignments().contains(token.meaning);
}

bool is_swizzle(const Token &token) {
    return token.is_identifier() && token.text.size() <= 4 &&
           (token.text.find_first_not_of("xyzw") == std::string_view::npos ||
            token.text.find_first_not_of("rgba") == std::string_view::npos);
}

// Where the object starts whose component stands before `assignment`: names, members and subscripts that may be
// evaluated twice. `assignment` if it is something else, or if no expression starts there.
Index component_begin(const Source &source, Index assignment) {
    Index i = assignment - 1;
    while (i >= 2 && (source[i - 1].is(".") || source[i - 1].is("->"))) {
        i -= 2;
        while (source[i].is("]")) {
            const Index open = source.group_begin(i);
            if (open == i || open == 0) return assignment;
            while (--i > open) {
                const Token &token = source[i];
                const bool changes =
                    token.is("(") || token.is("=") || token.is("++") || token.is("--") || is_compound_assignment(token);
                if (changes) return assignment;
            }
            i = open - 1;
        }
        if (!source[i].is_identifier()) return assignment;
    }
    if (i == assignment - 1 || i == 0) return assignment;
    if (is_compound_assignment(source[i - 1])) return i;
    for (const char *before : {";", "{", "}", "(", ")", ",", ":", "=", "else", "do"})
        if (source[i - 1].is(before)) return i;
    return assignment;
}

// The components of components, `yw` of `v.xyzw.yw`; empty if there are none.
std::string composed(std::string_view of, std::string_view components) {
    std::string result;
    for (const char c : components) {
        const std::size_t at = std::min(std::string_view("xyzw").find(c), std::string_view("rgba").find(c));
        if (at >= of.size()) return "";
        result += of[at];
    }
    return result;
}

// `v.yzw.x` becomes `v.y`, unless the source declares something that is called `yzw`.
void join_components(Source &source) {
    std::set<std::string_view> declared;
    const auto is_member = [&](Index i) { return i > 0 && (source[i - 1].is(".") || source[i - 1].is("->")); };
    for (Index i = 0; i < source.size(); ++i)
        if (is_swizzle(source[i]) && !is_member(i)) declared.insert(source[i].text);
    for (Index i = 0; i + 2 < source.size(); ++i) {
        Token &first = source[i], &last = source[i + 2];
        if (!is_swizzle(first) || first.text.size() < 2 || !is_member(i) || declared.contains(first.text)) continue;
        // Such a one is not assignable.
        if (std::set<char>(first.text.begin(), first.text.end()).size() < first.text.size()) continue;
        if (!source[i + 1].is(".") || !is_swizzle(last) || last.replaced || !first.appended.empty()) continue;
        const std::string joined = composed(first.replaced ? first.replacement : first.text, last.text);
        if (joined.empty()) continue;
        last.replace(joined);
        source.erase({i, i + 2});
    }
}

// The operators of vectors, except `&&` and `||`: an earlier pass may have written brackets around their operands.
bool is_binary(const Token &token) {
    static const std::set<std::string_view> operators = {"+", "-",  "*",  "/", "%",  "&",  "|",  "^",
                                                         "<", "<=", "==", ">", ">=", "!=", "<<", ">>"};
    return token.kind == TokenKind::punctuator && operators.contains(token.meaning);
}

// Where the operand starts that ends with the member at `i`: names, members, subscripts, calls and parentheses; `i` if
// that cannot be told.
Index operand_begin(const Source &source, Index i) {
    const auto compares = [&](Index greater) {
        const Index open = source.group_begin(greater);
        return open == greater || !source.may_open_arguments(open);
    };
    Index begin = i;
    while (begin > 2 && (source[begin - 1].is(".") || source[begin - 1].is("->") || source[begin - 1].is("::"))) {
        begin -= 2;
        while (source[begin].is(")") || source[begin].is("]") || source[begin].is(">")) {
            const Index open = source.group_begin(begin);
            if (open == begin || open < 3 || (source[begin].is(">") && compares(begin))) return i;
            const Token &before = source[open - 1];
            if (before.is(">") ? compares(open - 1) : !ends_operand(before)) return open;
            begin = open - 1;
        }
        if (!source[begin].is_identifier()) return i;
    }
    return source[begin - 1].is("template") ? i : begin;
}

// Whether a binary operator takes it, also in parentheses.
bool is_operand(const Source &source, Range part) {
    while (part.begin > 1 && source[part.begin - 1].is("(") && source[part.end].is(")") &&
           !ends_operand(source[part.begin - 2])) {
        --part.begin;
        ++part.end;
    }
    const bool right = part.begin > 1 && is_binary(source[part.begin - 1]) && ends_operand(source[part.begin - 2]);
    return right || is_binary(source[part.end]);
}

// Past the value that is assigned; `begin` if it is longer than a real one. A comma ends it, unless it stands
// between template arguments.
Index assigned_end(const Source &source, Index begin, Index end) {
    constexpr std::size_t longest = 1 << 11;
    std::size_t steps = 0;
    for (Index i = begin; i < end && steps < longest; ++steps) {
        const Token &token = source[i];
        if (token.kind != TokenKind::punctuator) {
            ++i;
            continue;
        }
        if (token.is(",") || token.is(";") || token.is(")") || token.is("]") || token.is("}")) return i;
        i = source.skip_part(i, end);
    }
    return begin;
}

// Past the body of what is declared from `begin` on, or the semicolon.
Index declared_end(const Source &source, Index begin, Index end) {
    for (Index i = begin; i < end;) {
        if (source[i].is(";") || source[i].is("}")) return i;
        const bool brace = source[i].is("{");
        i = source.skip_part(i, end);
        // Members are initialised before the body.
        if (brace && i < end && !source[i].is("{") && !source[i].is(",")) return i;
    }
    return end;
}

// Whether `[` of a lambda with a parameter of type `auto` closes at `i`.
bool is_generic_lambda(const Source &source, Index i) {
    if (!source[i].is("]") || !source[i + 1].is("(")) return false;
    const Index past = source.skip_group(i + 1, source.size() - 1);
    for (Index j = i + 2; j < past; ++j)
        if (source[j].is("auto")) return true;
    return false;
}

}  // namespace

void edit_components(Source &source) {
    join_components(source);
    std::set<std::string_view> overloaded;
    for (Index i = 0; i + 1 < source.size(); ++i)
        if (source[i].is("operator") && is_compound_assignment(source[i + 1])) overloaded.insert(source[i + 1].meaning);
    const Index end = source.size() - 1;
    Index template_end = 0;
    for (Index i = 2; i < end; ++i) {
        if (i >= template_end && source[i].is("template") && source[i + 1].is("<") && !source[i + 2].is(">"))
            template_end = declared_end(source, i + 1, end);
        if (i >= template_end && is_generic_lambda(source, i)) template_end = declared_end(source, i + 1, end);
        const Token &token = source[i];
        if (token.erased) continue;
        if (i < template_end && token.text.size() > 1 && is_swizzle(token)) {
            const Index begin = operand_begin(source, i);
            if (begin < i && is_operand(source, {begin, i + 1})) {
                // Within the brackets that other passes put around the operand.
                source[begin].replace(" ::smtl::value(" + source.written({begin, begin + 1}));
                source[i].appended.insert(0, ")");
            }
        }
        if (!is_compound_assignment(token)) continue;
        if (i >= template_end && !overloaded.contains(token.meaning)) continue;
        if (!is_swizzle(source[i - 1])) continue;
        const Index begin = component_begin(source, i);
        const Index past = assigned_end(source, i + 1, end);
        if (begin == i || past == i + 1) continue;
        const std::string_view operation = token.meaning.substr(0, token.meaning.size() - 1);
        const std::string value = "::smtl::value(" + source.written({begin, i}) + ")";
        source[i].replace(overloaded.contains(token.meaning)
                              ? "= ::smtl::" + compound_assignments().at(token.meaning) + "(" + value + ", "
                              : "= " + value + " " + std::string(operation) + " (");
        source[past - 1].appended += ")";
    }
}

}  // namespace smtl::msl
