#include "source.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "literal.h"

namespace smtl::msl {
namespace {

bool opens_bracket(const Token &token) { return token.is("(") || token.is("[") || token.is("{"); }
bool closes_bracket(const Token &token) { return token.is(")") || token.is("]") || token.is("}"); }

}  // namespace

Source::Source(std::string_view text, bool checking)
    : source_(text), checking_(checking), tokens_(tokenize(text)), angles_(find_angles(tokens_)) {
    match_brackets();
}

// Clang's own message about a bracket that is open at the end names a line that is not the user's.
std::optional<Problem> Source::find_open_bracket() const {
    const auto problem = [&](Index at, const std::string &what) {
        return Problem{locate(source_, tokens_, at), "'" + std::string(tokens_[at].text) + "' " + what};
    };
    std::vector<Index> open;
    for (Index i = 0; i < tokens_.size(); ++i) {
        const std::string_view text = tokens_[i].text;
        if (text == "(" || text == "[" || text == "{") open.push_back(i);
        if (text != ")" && text != "]" && text != "}") continue;
        const std::string_view partner = text == ")" ? "(" : text == "]" ? "[" : "{";
        if (open.empty()) return problem(i, "has no opening bracket");
        if (tokens_[open.back()].text != partner)
            return problem(open.back(), "is not closed before '" + std::string(text) + "'");
        open.pop_back();
    }
    if (open.empty()) return std::nullopt;
    return problem(open.back(), "is never closed");
}

// Finds once where brackets and template argument lists close and statements end. A search for each of many nested
// brackets would look through everything inside it again and again.
void Source::match_brackets() {
    const Index end = tokens_.size();
    closing_.assign(end, end);
    opening_.resize(end);
    std::iota(opening_.begin(), opening_.end(), Index{0});
    statement_end_.assign(end + 1, end);
    std::vector<Index> open;
    std::vector<std::vector<Index>> angles(1);  // that are open, for each bracket around
    const auto close = [&](Index from, Index to) {
        closing_[from] = to;
        opening_[to] = from;
    };
    for (Index i = 0; i < end; ++i) {
        const Token &token = tokens_[i];
        if (opens_bracket(token)) {
            open.push_back(i);
            angles.emplace_back();
        } else if (closes_bracket(token)) {
            if (!open.empty()) {
                close(open.back(), i);
                open.pop_back();
                angles.pop_back();
            }
        } else if (token.is(";")) {
            angles.back().clear();
        } else if (token.is("<")) {
            angles.back().push_back(i);
        } else if (token.is(">") && !angles.back().empty()) {
            close(angles.back().back(), i);
            angles.back().pop_back();
        }
    }
    for (Index i = end; i-- > 0;) {
        const Token &token = tokens_[i];
        if (token.is(";") || closes_bracket(token))
            statement_end_[i] = i;
        else
            statement_end_[i] = statement_end_[opens_bracket(token) ? std::min(closing_[i] + 1, end) : i + 1];
    }
}

Index Source::skip_group(Index open, Index end) const { return open < end ? std::min(closing_[open] + 1, end) : end; }

// `<` opens a template argument list only if a `>` closes it before a statement could end.
std::optional<Index> Source::skip_angles(Index open, Index end) const {
    if (closing_[open] >= end) return std::nullopt;
    return closing_[open] + 1;
}

Index Source::skip_to_semicolon(Index begin, Index end) const {
    const Index stop = begin < end ? statement_end_[begin] : end;
    if (stop >= end) return end;
    return tokens_[stop].is(";") ? stop + 1 : stop;
}

bool Source::opens_attribute(Index i) const {
    return i + 1 < tokens_.size() && tokens_[i].is("[") && tokens_[i + 1].is("[") && tokens_[i + 1].leading.empty();
}

std::optional<Index> Source::skip_arguments(Index open, Index end) const {
    constexpr std::array<std::string_view, 10> follows = {"(", "::", "{", ";", ")", ",", "?", ":", "||", "=="};
    const auto past = may_open_arguments(open) ? skip_angles(open, end) : std::nullopt;
    return past && (angles_[open] == Angle::opens || tokens_[*past].is_one_of(follows)) ? past : std::nullopt;
}

Index Source::skip_part(Index i, Index end) const {
    const Token &token = tokens_[i];
    if (token.is("<")) return skip_arguments(i, end).value_or(i + 1);
    return token.is("(") || token.is("[") || token.is("{") ? skip_group(i, end) : i + 1;
}

std::vector<Range> Source::split_commas(Range range) const {
    std::vector<Range> parts;
    Index start = range.begin;
    for (Index i = range.begin; i < range.end;) {
        const std::string_view text = tokens_[i].text;
        if (text == "(" || text == "[" || text == "{") {
            i = skip_group(i, range.end);
            continue;
        }
        if (text == "<" && may_open_arguments(i)) {
            if (const auto past = skip_angles(i, range.end)) {
                i = *past;
                continue;
            }
        }
        if (text == ",") {
            parts.push_back({start, i});
            start = i + 1;
        }
        ++i;
    }
    if (start < range.end || !parts.empty()) parts.push_back({start, range.end});
    return parts;
}

std::string Source::spelling(Range range) const {
    std::string text;
    for (Index i = range.begin; i < range.end; ++i) {
        const Token &token = tokens_[i];
        if (!text.empty() && !token.leading.empty()) text += ' ';
        text += token.kind == TokenKind::number ? written_literal(token.text) : std::string(token.text);
    }
    return text;
}

std::string Source::written(Range range) const {
    std::string text;
    for (Index i = range.begin; i < range.end; ++i) {
        const Token &token = tokens_[i];
        text += token.leading.empty() ? "" : " ";
        text += token.replaced ? token.replacement : std::string(token.text);
    }
    return text;
}

void Source::erase(Range range) {
    for (Index i = range.begin; i < range.end; ++i) tokens_[i].erase();
}

void Source::replace_leading(Index i, std::string text) {
    kept_text_.push_back(std::move(text));
    tokens_[i].leading = kept_text_.back();
}

void Source::problem(Index at, std::string message, std::size_t offset) {
    // Locating a token looks through everything before it.
    constexpr std::size_t most = 64;
    if (findings_.size() == most) return;
    const auto after = std::upper_bound(findings_.begin(), findings_.end(), at,
                                        [](Index index, const Finding &finding) { return index < finding.at; });
    findings_.insert(after, {at, {locate(source_, tokens_, at, offset), std::move(message)}});
}

std::vector<Problem> Source::problems() const {
    std::vector<Problem> problems;
    problems.reserve(findings_.size());
    for (const Finding &finding : findings_) problems.push_back(finding.problem);
    return problems;
}

}  // namespace smtl::msl
