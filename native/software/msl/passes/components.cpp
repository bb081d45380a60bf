#include "component_assignments.h"

#include <set>
#include <string>
#include <string_view>

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

// Where the object starts whose component stands before `assignment`: names, members and subscripts that may be
// evaluated twice. `assignment` if it is something else, or if no expression starts there.
Index component_begin(const Source &source, Index assignment) {
    Index i = assignment - 1;
    while (i >= 2 && (source[i - 1].is(".") || source[i - 1].is("->"))) {
        i -= 2;
        while (source[i].is("]")) {
            for (Index depth = 1; depth > 0;) {
                if (i-- == 0) return assignment;
                const Token &token = source[i];
                const bool changes =
                    token.is("(") || token.is("=") || token.is("++") || token.is("--") || is_compound_assignment(token);
                if (changes) return assignment;
                depth += token.is("]");
                depth -= token.is("[");
            }
            if (i-- == 0) return assignment;
        }
        if (!source[i].is_identifier()) return assignment;
    }
    if (i == assignment - 1 || i == 0) return assignment;
    if (is_compound_assignment(source[i - 1])) return i;
    for (const char *before : {";", "{", "}", "(", ")", ",", ":", "=", "else", "do"}) {
        if (source[i - 1].is(before)) return i;
    }
    return assignment;
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

}  // namespace

void edit_component_assignments(Source &source) {
    std::set<std::string_view> overloaded;
    for (Index i = 0; i + 1 < source.size(); ++i) {
        if (source[i].is("operator") && is_compound_assignment(source[i + 1])) overloaded.insert(source[i + 1].text);
    }
    const Index end = source.size() - 1;
    Index template_end = 0;
    for (Index i = 2; i < end; ++i) {
        if (i >= template_end && source[i].is("template") && source[i + 1].is("<") && !source[i + 2].is(">"))
            template_end = declared_end(source, i + 1, end);
        const Token &assignment = source[i];
        if (assignment.erased || !is_compound_assignment(assignment)) continue;
        if (i >= template_end && !overloaded.contains(assignment.text)) continue;
        if (!is_swizzle(source[i - 1])) continue;
        const Index begin = component_begin(source, i);
        const Index past = assigned_end(source, i + 1, end);
        if (begin == i || past == i + 1) continue;
        const std::string_view operation = assignment.text.substr(0, assignment.text.size() - 1);
        source[i].replace("= " + source.written({begin, i}) + " " + std::string(operation) + " (");
        source[past - 1].appended += ")";
    }
}

}  // namespace smtl::msl
