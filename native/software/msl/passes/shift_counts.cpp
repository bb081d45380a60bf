#include "shift_counts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>

namespace smtl::msl {
namespace {

// No operand is narrower once it is computed with.
constexpr unsigned least_width = 32;

bool is_small(const Token &token) {
    unsigned value = least_width;
    const char *const end = token.text.data() + token.text.size();
    const auto read = std::from_chars(token.text.data(), end, value);
    return token.kind == TokenKind::number && value < least_width &&
           std::all_of(read.ptr, end, [](char c) { return c == 'u' || c == 'U' || c == 'l' || c == 'L'; });
}

// Operators that bind less than a count does, and brackets that close around it.
bool ends_count(const Token &token) {
    constexpr std::array<std::string_view, 20> ends = {
        ";", ",", ")", "]", "}", "?", ":", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "|", "^", "=", "<<", "<<="};
    return token.kind == TokenKind::end || std::find(ends.begin(), ends.end(), token.text) != ends.end();
}

}  // namespace

void edit_shift_counts(Source &source) {
    std::set<Index> closing;  // the `>` of template arguments
    for (Index i = 0; i < source.size(); ++i) {
        if (!source[i].is("<")) continue;
        if (const auto past = source.skip_angles(i, source.size())) closing.insert(*past - 1);
    }
    for (Index i = 3; i + 1 < source.size(); ++i) {
        const bool right = source[i].is(">") && source[i - 1].is(">") && source[i].leading.empty() &&
                           !closing.contains(i) && !closing.contains(i - 1);
        if ((!right && !source[i].is("<<")) || source[i].replaced) continue;
        const Index left = i - (right ? 2 : 1);
        if (source[left].is("operator")) continue;
        const Index begin = i + 1;
        Index end = begin;
        bool expands = false;
        while (end < source.size()) {
            const Index past = source.skip_part(end, source.size());
            const bool arguments = source[end].is("<") && past > end + 1;
            if (!arguments && (ends_count(source[end]) || (source[end].is("&") && end > begin))) break;
            expands = expands || source[end].is("...");
            end = past;
        }
        if (end == begin || expands || (end == begin + 1 && is_small(source[begin]))) continue;
        const bool named = source[left].is_identifier() && !source[left - 1].is(".") && !source[left - 1].is("->") &&
                           !source[left - 1].is("::");
        const std::string type = named || source[left].kind == TokenKind::number
                                     ? "decltype(" + std::string(source[left].text) + ")"
                                     : "unsigned long";
        source[i].appended += " ::smtl::shift_count<" + type + ">(";
        source[end - 1].appended += ")";
    }
}

}  // namespace smtl::msl
