// Compound assignments to components of vectors. Components are properties (include/msl/swizzle.h), and where a
// template's `v.x += a` meets a free `operator+=` of the source, clang keeps it as a call of an operator and then
// cannot make an assignment to a property of it. It is written out in sources that have such an operator: `v.x = v.x +
// (a)`.
#include <set>
#include <string_view>

#include "translator.h"

namespace smtl::msl {

namespace {

bool is_compound_assignment(const Token &token) {
    static const std::set<std::string_view> operators = {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    return token.kind == TokenKind::punctuator && operators.contains(token.text);
}

bool is_swizzle(const Token &token) {
    return token.is_identifier() && token.text.size() <= 4 &&
           (token.text.find_first_not_of("xyzw") == std::string_view::npos ||
            token.text.find_first_not_of("rgba") == std::string_view::npos);
}

}  // namespace

void Translator::edit_component_assignments() {
    std::set<std::string_view> overloaded;
    for (Index i = 0; i + 1 < tokens_.size(); ++i) {
        if (tokens_[i].is("operator") && is_compound_assignment(tokens_[i + 1])) overloaded.insert(tokens_[i + 1].text);
    }
    const Index end = tokens_.size() - 1;
    for (Index i = 2; i < end; ++i) {
        const Token &assignment = tokens_[i];
        if (assignment.erased || !overloaded.contains(assignment.text) || !is_compound_assignment(assignment)) continue;
        if (!is_swizzle(tokens_[i - 1])) continue;
        const Index begin = component_begin(i);
        const Index past = assigned_end(i + 1, end);
        if (begin == i || past == i + 1) continue;
        const std::string_view operation = assignment.text.substr(0, assignment.text.size() - 1);
        tokens_[i].replace("= " + written({begin, i}) + " " + std::string(operation) + " (");
        tokens_[past - 1].appended += ")";
    }
}

// Where the object starts whose component stands before `assignment`: names, members and subscripts that may be
// evaluated twice. `assignment` where it is something else, or where no expression starts there.
Index Translator::component_begin(Index assignment) const {
    Index i = assignment - 1;
    while (i >= 2 && (tokens_[i - 1].is(".") || tokens_[i - 1].is("->"))) {
        i -= 2;
        while (tokens_[i].is("]")) {
            for (Index depth = 1; depth > 0;) {
                if (i-- == 0) return assignment;
                const Token &token = tokens_[i];
                const bool changes =
                    token.is("(") || token.is("=") || token.is("++") || token.is("--") || is_compound_assignment(token);
                if (changes) return assignment;
                depth += token.is("]");
                depth -= token.is("[");
            }
            if (i-- == 0) return assignment;
        }
        if (!tokens_[i].is_identifier()) return assignment;
    }
    if (i == assignment - 1 || i == 0) return assignment;
    if (is_compound_assignment(tokens_[i - 1])) return i;
    for (const char *before : {";", "{", "}", "(", ")", ",", ":", "=", "else", "do"}) {
        if (tokens_[i - 1].is(before)) return i;
    }
    return assignment;
}

// Past the value that is assigned; `begin` where it is longer than a real one. A comma ends it, unless it stands
// between template arguments.
Index Translator::assigned_end(Index begin, Index end) const {
    constexpr std::size_t longest = 1 << 11;
    std::size_t steps = 0;
    for (Index i = begin; i < end && steps < longest; ++steps) {
        const Token &token = tokens_[i];
        if (token.kind != TokenKind::punctuator) {
            ++i;
            continue;
        }
        if (token.is(",") || token.is(";") || token.is(")") || token.is("]") || token.is("}")) return i;
        i = skip_part(i, end);
    }
    return begin;
}

// Past a bracket's content, the arguments of a template that is named in an expression, or a token.
Index Translator::skip_part(Index i, Index end) const {
    const Token &token = tokens_[i];
    if (token.is("<") && i > 0 && tokens_[i - 1].is_identifier()) {
        const auto past = skip_angles(i, end);
        return past && (tokens_[*past].is("(") || tokens_[*past].is("::") || tokens_[*past].is("{")) ? *past : i + 1;
    }
    return token.is("(") || token.is("[") || token.is("{") ? skip_group(i, end) : i + 1;
}

}  // namespace smtl::msl
