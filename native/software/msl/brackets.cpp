// Navigation over tokens: matching brackets, template argument lists, attributes.
#include <algorithm>

#include "translator.h"

namespace smtl::msl {

// Clang's own complaint about what is open at the end speaks of a line that is not the user's.
std::optional<Problem> Translator::find_open_bracket() const {
    const auto problem = [&](Index at, const std::string &what) {
        return Problem{locate(source_, tokens_, at), "'" + std::string(tokens_[at].text) + "' " + what};
    };
    std::vector<Index> open;
    for (Index i = 0; i < tokens_.size(); ++i) {
        const std::string_view text = tokens_[i].text;
        if (text == "(" || text == "[" || text == "{") open.push_back(i);
        if (text != ")" && text != "]" && text != "}") continue;
        const std::string_view partner = text == ")" ? "(" : text == "]" ? "[" : "{";
        if (open.empty()) return problem(i, "closes nothing");
        if (tokens_[open.back()].text != partner) return problem(open.back(), "is not closed before '" + std::string(text) + "'");
        open.pop_back();
    }
    if (open.empty()) return std::nullopt;
    return problem(open.back(), "is never closed");
}

Index Translator::skip_group(Index open, Index end) const {
    std::size_t depth = 0;
    for (Index i = open; i < end; ++i) {
        const std::string_view text = tokens_[i].text;
        if (text == "(" || text == "[" || text == "{") ++depth;
        if (text == ")" || text == "]" || text == "}") {
            if (--depth == 0) return i + 1;
        }
    }
    return end;
}

// `<` opens a template argument list only where a `>` closes it before a statement could end. Longer lists than any real one
// are not looked for: a source of nothing but `<` would take the square of its length.
std::optional<Index> Translator::skip_angles(Index open, Index end) const {
    constexpr Index longest = 1 << 14;
    end = std::min(end, open + longest);
    std::size_t depth = 0;
    for (Index i = open; i < end;) {
        const std::string_view text = tokens_[i].text;
        if (text == "(" || text == "[" || text == "{") {
            i = skip_group(i, end);
            continue;
        }
        if (text == "<") ++depth;
        if (text == ">" && --depth == 0) return i + 1;
        if (text == ";" || text == ")" || text == "]" || text == "}") return std::nullopt;
        ++i;
    }
    return std::nullopt;
}

Index Translator::skip_to_semicolon(Index begin, Index end) const {
    for (Index i = begin; i < end;) {
        const std::string_view text = tokens_[i].text;
        if (text == ";") return i + 1;
        if (text == "(" || text == "[" || text == "{") {
            i = skip_group(i, end);
        } else if (text == "}" || text == ")" || text == "]") {
            return i;
        } else {
            ++i;
        }
    }
    return end;
}

bool Translator::opens_attribute(Index i) const {
    return i + 1 < tokens_.size() && tokens_[i].is("[") && tokens_[i + 1].is("[") && tokens_[i + 1].leading.empty();
}

std::vector<Range> Translator::split_commas(Range range) const {
    std::vector<Range> parts;
    Index start = range.begin;
    for (Index i = range.begin; i < range.end;) {
        const std::string_view text = tokens_[i].text;
        if (text == "(" || text == "[" || text == "{") {
            i = skip_group(i, range.end);
            continue;
        }
        if (text == "<") {
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

std::string Translator::spelling(Range range) const {
    std::string text;
    for (Index i = range.begin; i < range.end; ++i) {
        if (!text.empty() && !tokens_[i].leading.empty()) text += ' ';
        text += tokens_[i].text;
    }
    return text;
}

std::string Translator::qualified(std::string_view name) const {
    std::string text;
    for (const std::string &scope : scope_) {
        if (!scope.empty()) text += scope + "::";
    }
    text += name;
    return text;
}

void Translator::problem(Index at, std::string message) { report(locate(source_, tokens_, at), std::move(message)); }

void Translator::report(SourceLocation location, std::string message) {
    constexpr std::size_t most = 64;
    if (result_.problems.size() < most) result_.problems.push_back({std::move(location), std::move(message)});
}

void Translator::erase_range(Range range) {
    for (Index i = range.begin; i < range.end; ++i) tokens_[i].erase();
}

}  // namespace smtl::msl
