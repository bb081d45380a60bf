#include "shift_counts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
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
bool ends_count(const Token &token, bool assigned) {
    constexpr std::array<std::string_view, 5> closes = {";", ",", ")", "]", "}"};
    constexpr std::array<std::string_view, 16> follows = {
        "?", ":", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "|", "^", "=", "<<", "<<=", ">>="};
    return token.kind == TokenKind::end || token.is_one_of(closes) || (!assigned && token.is_one_of(follows));
}

// Names, members and elements, the only operands that `<<=` is given by their types.
std::optional<Range> assigned(const Source &source, Index assignment) {
    constexpr Index longest = 64;
    Index i = assignment - 1;
    for (;; i -= 2) {
        while (source[i].is("]")) {
            const Index open = source.group_begin(i);
            if (open == i || open == 0) return std::nullopt;
            i = open - 1;
        }
        if (i < 2 || assignment - i > longest || !source[i].is_identifier()) return std::nullopt;
        if (!source[i - 1].is(".") && !source[i - 1].is("->") && !source[i - 1].is("::")) break;
    }
    while (i > 1 && source[i - 1].is("*")) --i;
    for (const char *before : {";", "{", "}", "(", ")", ",", ":", "=", "else", "do", "return"})
        if (source[i - 1].is(before)) return Range{i, assignment};
    return std::nullopt;
}

// The location as `decltype` needs it. Every index gives the same type, and later passes still edit what stands between
// the brackets.
std::string any_element(const Source &source, Range location) {
    std::string text;
    for (Index i = location.begin; i < location.end;) {
        const Index past = source[i].is("[") ? source.skip_group(i, location.end) : i + 1;
        text += past > i + 1 ? "[0]" : source.written({i, past});
        i = past;
    }
    return text;
}

// Where counts end, and whether a pack is expanded in one.
class Counts {
public:
    struct Count {
        Index end = 0;
        bool expands = false;
    };

    // The counts of assignments stand in each other, up to the same end: they are read from the last one on, and each
    // goes on behind the one that it comes to.
    explicit Counts(const Source &source) : source_(source) {
        for (Index i = source.size() - 1; i > 0; --i)
            if (assigns(i - 1)) assigned_[i - 1] = read(i, true);
    }

    bool assigns(Index i) const { return source_[i].is("<<=") || source_[i].is(">>="); }

    Count read(Index begin, bool assigned) const {
        Count count{begin};
        Index choices = 0;
        while (count.end < source_.size()) {
            const Index i = count.end;
            const Index past = source_.skip_part(i, source_.size());
            const bool arguments = source_[i].is("<") && past > i + 1;
            if (!arguments && (ends_count(source_[i], assigned) || (source_[i].is("&") && i > begin && !assigned)))
                break;
            choices += source_[i].is("?");
            if (source_[i].is(":") && choices-- == 0) break;
            const auto inner = assigned ? assigned_.find(i) : assigned_.end();
            count.expands =
                count.expands || source_[i].is("...") || (inner != assigned_.end() && inner->second.expands);
            count.end = inner == assigned_.end() ? past : inner->second.end;
        }
        return count;
    }

private:
    const Source &source_;
    std::map<Index, Count> assigned_;  // by the operator
};

}  // namespace

void edit_shift_counts(Source &source) {
    const Counts counts(source);
    std::set<Index> closing;  // the `>` of template arguments
    for (Index i = 0; i < source.size(); ++i) {
        const bool value =
            i > 0 && (source[i - 1].kind == TokenKind::number || source[i - 1].is(")") || source[i - 1].is("]"));
        if (!source[i].is("<") || value || (i > 0 && source[i - 1].is_identifier() && !source.may_open_arguments(i)))
            continue;
        if (const auto past = source.skip_angles(i, source.size())) closing.insert(*past - 1);
    }
    for (Index i = 3; i + 1 < source.size(); ++i) {
        const bool ends_right = source[i].is(">") && source[i - 1].is(">") && source[i].leading.empty() &&
                                !closing.contains(i) && !closing.contains(i - 1);
        const bool assigns = counts.assigns(i);
        if ((!ends_right && !source[i].is("<<") && !assigns) || source[i].replaced) continue;
        const Index operation = i - ends_right;
        if (source[operation - 1].is("operator")) continue;
        const Index begin = i + 1;
        const auto [end, expands] = counts.read(begin, assigns);
        if (end == begin || expands || (end == begin + 1 && is_small(source[begin]))) continue;
        if (assigns) {
            const std::optional<Range> to = assigned(source, operation);
            source[i].appended += " ::smtl::assigned_shift_count<" +
                                  (to ? "decltype(" + any_element(source, *to) + ")" : "unsigned long") + ">(";
        } else {
            source[i].appended += " ::smtl::shift_by(";
        }
        source[end - 1].appended += ")";
    }
}

}  // namespace smtl::msl
