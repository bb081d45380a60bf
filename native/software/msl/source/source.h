// A source while it is translated: its tokens, which passes edit in place, and what every pass asks of them.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "angles.h"
#include "token.h"
#include "translation.h"

namespace smtl::msl {

using Index = std::size_t;

// Half-open run of tokens.
struct Range {
    Index begin = 0;
    Index end = 0;
    bool empty() const { return begin >= end; }
};

// An edit changes what is written in place of a token or behind it, never the token's text: passes read the source as
// it was, and see earlier edits only if they ask for them (`written`, `Token::replaced`).
class Source {
public:
    // `checking`: for clang's C++ for OpenCL. `text` outlives the object.
    Source(std::string_view text, bool checking);
    Source(const Source &) = delete;
    Source &operator=(const Source &) = delete;

    bool checking() const { return checking_; }

    // The last token has kind `end`.
    Token &operator[](Index i) { return tokens_[i]; }
    const Token &operator[](Index i) const { return tokens_[i]; }
    Index size() const { return tokens_.size(); }

    // Past the bracket that closes `open`.
    Index skip_group(Index open, Index end) const;
    // The bracket or the `<` that `close` closes; `close` if it closes none.
    Index group_begin(Index close) const { return opening_[close]; }
    // Past the `>` that closes `<`, if it opens a template argument list.
    std::optional<Index> skip_angles(Index open, Index end) const;
    // Past the semicolon, or to the bracket that closes around `begin`.
    Index skip_to_semicolon(Index begin, Index end) const;
    // Past a bracket's content, the arguments of a template that is named in an expression, or a token.
    Index skip_part(Index i, Index end) const;
    // The `<` stands where template arguments may begin, and compares nothing.
    bool may_open_arguments(Index i) const {
        return i > 0 && tokens_[i - 1].is_identifier() && angles_[i] != Angle::compares;
    }
    // Past the template arguments that a `<` in an expression opens: a template's name stands before it, or what stands
    // behind the `>` begins no operand that could be compared.
    std::optional<Index> skip_arguments(Index open, Index end) const;
    bool opens_attribute(Index i) const;
    // The parts between commas that stand outside of brackets and template arguments.
    std::vector<Range> split_commas(Range range) const;

    // The original tokens, with single blanks between them.
    std::string spelling(Range range) const;
    // The same with the edits made so far.
    std::string written(Range range) const;

    void erase(Range range);
    // Replaces the white space, line markers and pragmas before a token.
    void replace_leading(Index i, std::string text);

    // Notes an error at a token; with `offset`, that many bytes into the white space and directives before the token.
    void problem(Index at, std::string message, std::size_t offset = std::string_view::npos);
    // The errors that were noted, in the order of the source.
    std::vector<Problem> problems() const;
    // A bracket that is never closed, or one that closes nothing.
    std::optional<Problem> find_open_bracket() const;

    // With all edits.
    std::string text() const { return write(tokens_); }

private:
    struct Finding {
        Index at;
        Problem problem;
    };

    void match_brackets();

    const std::string_view source_;
    const bool checking_;
    std::vector<Token> tokens_;
    std::vector<Index> closing_;  // of each bracket and `<` that opens; the number of tokens where nothing closes it
    std::vector<Index> opening_;  // of each that closes; its own index where it closes nothing
    std::vector<Angle> angles_;
    std::vector<Index> statement_end_;  // from each token on: the `;` or the bracket that closes around it
    std::deque<std::string> kept_text_;  // what leads to tokens where it was replaced
    std::vector<Finding> findings_;  // by where they are
};

}  // namespace smtl::msl
