// What expressions choose: `?:`, `&&` and `||`.
#include <algorithm>
#include <array>

#include "regions.h"

namespace smtl::msl {
namespace {

// What stands between brackets, commas and assignments.
struct Piece {
    Index begin = 0, choice = 0, last = 0;  // the first and the last `?`, `&&` and `||`; 0: none
    bool conditional = false;               // with `?`
    std::size_t open = 0;                   // `?` without its `:`
    std::vector<Index> operands = {};       // where those begin that not all lanes may come to
};

}  // namespace

// No variable decides: lanes do not part there.
bool FunctionSync::Regions::is_constant(Range condition) const {
    for (Index i = condition.begin; i < condition.end; ++i)
        if (source[i].is_identifier() && !source[i].is("true") && !source[i].is("false")) return false;
    return true;
}

// `auto &&[a, b]`, `(T &&)`, `f<T &&>`
bool FunctionSync::Regions::is_reference(Index symbol) const {
    constexpr std::array<std::string_view, 4> ends = {">", ")", ",", "..."};
    return source[symbol - 1].is("auto") || source[symbol + 1].is_one_of(ends);
}

// The types and names in declarations, with the bounds of arrays: a choice there is made by the compiler.
std::vector<Range> FunctionSync::Regions::declared_names(Range range,
                                                         const std::vector<Declarator> &declarators) const {
    std::vector<Range> names;
    Index begin = range.begin;
    for (const Declarator &declarator : declarators) {
        for (Index i = begin; i < declarator.begin; ++i)
            if (source[i].is(";")) begin = i + 1;
        Index past = declarator.name + 1;
        while (past < range.end && source[past].is("[")) past = source.skip_group(past, range.end);
        names.push_back({begin, past});
        begin = declarator.end + 1;
    }
    return names;
}

// A choice in parentheses that is an lvalue: `(c ? a : b) = x`, `++(c ? a : b)`, `(c ? a : b).x`
bool FunctionSync::Regions::is_lvalue(Range range) const {
    const Token &before = source[range.begin - 2], &behind = source[range.end + 1];
    const bool enclosed = source[range.begin - 1].is("(") && source[range.end].is(")");
    return enclosed && (is_assignment(behind) || is_increment(behind) || behind.is(".") || behind.is("[") ||
                        is_increment(before) || (before.is("&") && !ends_operand(source[range.begin - 3])));
}

// The same of what may be chosen. Where names of functions do not tell, an operator may talk, but not one of constants,
// and none chooses between lvalues.
bool FunctionSync::Regions::chosen_talks(Range range, bool lvalue) const {
    if (!function.lanes_.anything_talks) return talks(range);
    for (Index i = range.begin; i < range.end; ++i) {
        const Token &token = source[i];
        const bool constant = token.is("true") || token.is("false") ||
                              (function.lanes_.constants.contains(token.text) && !is_variable(token.text));
        if (token.is("(") || token.is("[") || token.is("{") || (token.is_identifier() && !constant && !lvalue))
            return true;
    }
    return false;
}

// Of `f<a, b>(...)`; `open` + 1 if the `<` compares.
Index FunctionSync::Regions::past_arguments(Index open, Index end) const {
    constexpr Index longest = 64;
    const auto past = source.skip_arguments(open, end);
    if (!past || *past - open > longest) return open + 1;
    for (Index i = open; i < *past; ++i)
        if (source[i].is("&&") || source[i].is("||") || source[i].is("?")) return open + 1;
    return *past;
}

// Each part of an expression in which lanes choose what they compute, with lane functions in what they choose, is a
// region.
void FunctionSync::Regions::find_choices(Range range, const std::vector<Range> &names) {
    std::vector<Piece> pieces = {{.begin = range.begin}};
    const auto finish = [&](Index end) {
        const Piece &piece = pieces.back();
        if (piece.choice == 0 || is_constant({piece.begin, piece.last}) ||
            !chosen_talks({piece.choice, end}, is_lvalue({piece.begin, end})))
            return;
        // Two parts that call one function must not meet in it.
        for (std::size_t n = 1; n < piece.operands.size(); ++n) {
            const Range operand{piece.operands[n], n + 1 < piece.operands.size() ? piece.operands[n + 1] - 1 : end};
            if (talks({piece.choice, operand.begin}) && talks(operand))
                regions.push_back({operand, Kind::turn_in_expression});
        }
        regions.push_back({{piece.begin, end}, Kind::expression});
    };
    auto name = names.begin();
    for (Index i = range.begin; i < range.end; ++i) {
        if (name != names.end() && i == name->begin) {
            i = name++->end - 1;
            continue;
        }
        const Token &token = source[i];
        if (is_lambda(i)) {
            find_choices({i + 1, source.skip_group(i, range.end) - 1}, {});
            const Index open = lambda_body(source, function.lanes_, i, range.end);
            i = std::max(i + 1, source[open].is("{") ? source.skip_group(open, range.end) : open) - 1;
            continue;
        }
        if (token.is("<") && source.may_open_arguments(i)) i = past_arguments(i, range.end) - 1;
        Piece &piece = pieces.back();
        const bool ends = (token.is(",") && piece.open == 0) || token.is(";") ||
                          (token.is(":") && !piece.conditional) || (is_assignment(token) && !piece.conditional);
        if (token.is("(") || token.is("[") || token.is("{")) {
            pieces.push_back({.begin = i + 1});
        } else if ((token.is(")") || token.is("]") || token.is("}")) && pieces.size() > 1) {
            finish(i);
            pieces.pop_back();
        } else if (token.is("?") || (token.is("&&") && !is_reference(i)) || token.is("||")) {
            if (piece.choice == 0) piece.choice = i;
            piece.last = i;
            piece.conditional = piece.conditional || token.is("?");
            piece.open += token.is("?");
            piece.operands.push_back(i + 1);
        } else if (ends) {
            finish(i);
            pieces.back() = {.begin = i + 1};
        } else if (token.is("return")) {
            piece = {.begin = i + 1};
        } else if (token.is(":")) {
            piece.open -= piece.open > 0;
            piece.operands.push_back(i + 1);
        }
    }
    finish(range.end);
}

}  // namespace smtl::msl
