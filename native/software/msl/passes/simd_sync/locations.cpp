// Where the locations of memory begin and end that expressions name.
#include "function_sync.h"

#include <algorithm>

namespace smtl::msl {

// Past `name[...]`, `*name`, `*(name + ...)` or `((type *)name)[...]`, with members and subscripts behind; `i` if none
// begins there.
Index FunctionSync::location_at(Index i, Range range, Index &name) const {
    const Token &token = source_[i];
    if (i > 0 && (source_[i - 1].is(".") || source_[i - 1].is("->") || source_[i - 1].is("::"))) return i;
    if (token.is_identifier()) {
        const auto found = shared_.find(token.text);
        if (found == shared_.end() || i + 1 >= source_.size()) return i;
        const bool reached = source_[i + 1].is("[") || source_[i + 1].is("->");
        if (declared_.contains(i) || (!reached && !found->second.object)) return i;
        name = i;
        return past_postfix(i + 1, range.end);
    }
    const bool operand = i > range.begin && ends_operand(source_[i - 1]);
    if (operand || (!token.is("*") && !token.is("("))) return i;
    Index j = token.is("*") ? i + 1 : i;
    Index past = j;
    while (j < range.end && source_[j].is("(")) {
        past = source_.skip_group(j, std::min(range.end, j + longest_value));
        const bool cast = past < range.end && (source_[past].is("(") || source_[past].is_identifier());
        if (!cast) break;
        j = past;
    }
    if (j < range.end && source_[j].is_identifier()) past = j + 1;
    for (Index k = j; k < std::min(past, j + longest_location); ++k) {
        const auto found = source_[k].is_identifier() ? shared_.find(source_[k].text) : shared_.end();
        if (found == shared_.end() || found->second.object || declared_.contains(k)) continue;
        const bool reached = token.is("*") || (past < range.end && (source_[past].is("[") || source_[past].is("->")));
        if (!reached) return i;
        name = k;
        return past_postfix(past, range.end);
    }
    return i;
}

Index FunctionSync::past_postfix(Index i, Index end) const {
    while (i < end)
        if (source_[i].is("["))
            i = source_.skip_group(i, end);
        else if ((source_[i].is(".") || source_[i].is("->")) && i + 1 < end && source_[i + 1].is_identifier())
            i += 2;
        else
            break;
    return i;
}

// Where the right side of an assignment ends; `begin` if it is too long to be looked at.
Index FunctionSync::value_end(Index begin, Index end) const {
    std::size_t choices = 0;
    // Only a look at all that follows shows that a bracket is never closed.
    unsigned comparisons = 8;
    const Index limit = std::min(end, begin + longest_value);
    for (Index i = begin; i < limit;) {
        const Token &token = source_[i];
        if (token.kind != TokenKind::punctuator) {
            ++i;
            continue;
        }
        if (token.is("?")) ++choices;
        if (token.is(":") && choices-- == 0) return i;
        if (token.is(";") || token.is(",") || token.is(")") || token.is("]") || token.is("}")) return i;
        const Index past = token.is("<") && comparisons == 0 ? i + 1 : source_.skip_part(i, limit);
        comparisons -= token.is("<") && comparisons > 0 && past == i + 1;
        i = past;
    }
    return limit == end ? end : begin;
}

}  // namespace smtl::msl
