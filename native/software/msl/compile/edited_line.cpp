#include "edited_line.h"

#include <algorithm>
#include <cstdint>

namespace smtl::msl {
namespace {

constexpr std::size_t nowhere = std::string_view::npos;

// For each token of the one line the same token of the other, so that as many as possible have one and their order is
// one. `nowhere` for those that have none.
std::vector<std::size_t> align(const std::vector<Token> &from, const std::vector<Token> &to) {
    constexpr std::size_t most = std::size_t{1} << 22;
    std::vector<std::size_t> same(from.size(), nowhere);
    std::size_t begin = 0, from_end = from.size(), to_end = to.size();
    const auto agree = [&](std::size_t i, std::size_t j) { return from[i].text == to[j].text; };
    for (; begin < std::min(from_end, to_end) && agree(begin, begin); ++begin) same[begin] = begin;
    for (; std::min(from_end, to_end) > begin && agree(from_end - 1, to_end - 1); --from_end, --to_end)
        same[from_end - 1] = to_end - 1;
    const std::size_t rows = from_end - begin, columns = to_end - begin;
    if (rows == 0 || columns == 0 || rows > most / columns) return same;
    // How many tokens agree from there on: the longest common subsequence.
    std::vector<std::uint32_t> lengths((rows + 1) * (columns + 1));
    const auto length = [&](std::size_t i, std::size_t j) -> std::uint32_t & { return lengths[i * (columns + 1) + j]; };
    for (std::size_t i = rows; i-- > 0;)
        for (std::size_t j = columns; j-- > 0;)
            length(i, j) =
                agree(begin + i, begin + j) ? length(i + 1, j + 1) + 1 : std::max(length(i + 1, j), length(i, j + 1));
    for (std::size_t i = 0, j = 0; i < rows && j < columns;)
        if (agree(begin + i, begin + j))
            same[begin + i++] = begin + j++;
        else
            ++(length(i + 1, j) >= length(i, j + 1) ? i : j);
    return same;
}

// Without the mark of the end, and without the backslash that joins the next line.
std::vector<Token> tokens_of(std::string_view line) {
    std::vector<Token> tokens = tokenize(line);
    tokens.pop_back();
    if (!tokens.empty() && tokens.back().is("\\")) tokens.pop_back();
    return tokens;
}

}  // namespace

EditedLine::EditedLine(std::string_view compiled, std::string_view original)
    : compiled_(compiled), original_(original), from_(tokens_of(compiled)), to_(tokens_of(original_)),
      same_(align(from_, to_)), known_(to_.size()) {
    for (const std::size_t j : same_)
        if (j != nowhere) known_[j] = true;
}

std::size_t EditedLine::original_column(std::size_t column) const {
    if (compiled_ == original_) return column;
    const auto start = [&](const Token &token, std::string_view line) {
        return static_cast<std::size_t>(token.text.data() - line.data()) + 1;
    };
    const auto past = [&](std::size_t j) { return start(to_[j], original_) + to_[j].text.size(); };
    // The token there, or the next one.
    std::size_t at = 0;
    while (at < from_.size() && start(from_[at], compiled_) < column) ++at;
    const bool exact = at < from_.size() && start(from_[at], compiled_) == column;
    if (exact && same_[at] != nowhere) return start(to_[same_[at]], original_);
    // Directly behind a token.
    const bool behind = at > 0 && start(from_[at - 1], compiled_) + from_[at - 1].text.size() == column;
    if (!exact && behind && same_[at - 1] != nowhere) return past(same_[at - 1]);
    // In text that the user's line does not have. A name that the translation repeats:
    const bool named = exact && from_[at].kind != TokenKind::punctuator;
    const auto is_it = [&](const Token &token) { return token.text == from_[at].text; };
    if (named && std::count_if(to_.begin(), to_.end(), is_it) == 1)
        return start(*std::find_if(to_.begin(), to_.end(), is_it), original_);
    // The name of a macro, which only that line has, in the statement:
    while (at > 0 && same_[at - 1] == nowhere) --at;
    const std::size_t next = at == 0 ? 0 : same_[at - 1] + 1;
    for (std::size_t j = std::min(next + 1, to_.size());
         j-- > 0 && !to_[j].is(";") && !to_[j].is("{") && !to_[j].is("}");)
        if (to_[j].is_identifier() && !known_[j]) return start(to_[j], original_);
    // What was put in before the next token.
    return named || next >= to_.size() ? 0 : start(to_[next], original_);
}

}  // namespace smtl::msl
