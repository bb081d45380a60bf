// Preprocessed Metal source as tokens that can be edited in place and written back with their lines unchanged.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {

enum class TokenKind {
    identifier,
    number,
    string,
    character,
    punctuator,
    end
};

template <std::size_t N> bool is_one_of(std::string_view text, const std::array<std::string_view, N> &texts) {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
}

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;
    // The text, or the operator that it is another word for: `&&` for `and`.
    std::string_view meaning;
    // White space, line markers and pragmas before the token, as they stood.
    std::string_view leading;
    // What is written in place of the text.
    std::string replacement;
    bool replaced = false;
    // Erased: later edits leave the token alone.
    bool erased = false;
    // Written directly after the token (or its replacement).
    std::string appended;

    bool is(std::string_view spelling) const { return meaning == spelling && kind != TokenKind::end; }
    template <std::size_t N> bool is_one_of(const std::array<std::string_view, N> &spellings) const {
        return msl::is_one_of(meaning, spellings);
    }
    bool is_identifier() const { return kind == TokenKind::identifier; }

    void replace(std::string with) {
        replacement = std::move(with);
        replaced = true;
    }
    // Blanks keep the columns of what follows on the line, line breaks its number.
    void erase() {
        std::string blank(text);
        for (char &c : blank) c = c == '\n' ? '\n' : ' ';
        replace(std::move(blank));
        erased = true;
    }
};

// What follows the token is an operator between two operands, or a bracket behind one; no operand begins there.
bool ends_operand(const Token &token);

// A word of the language that is not a part of a type: no declaration begins with it, and no name is declared behind
// it.
bool begins_no_declaration(const Token &token);

// What stands before the parenthesis of a condition or of a loop's head; `constexpr` behind `if`.
bool begins_head(const Token &token);

// A scalar, a vector or a matrix of Metal's, or `void`.
bool names_arithmetic_type(std::string_view name);

// Splits `source`, which must outlive the tokens. Any bytes are accepted: what is not a token of C++ becomes a
// punctuator, for the compiler to complain about. The last token has kind `end` and carries the trailing white space.
std::vector<Token> tokenize(std::string_view source);

// The text with all edits applied.
std::string write(const std::vector<Token> &tokens);

// Where a token stands for the user: file and line after the line markers before it, and the column on the preprocessed
// line, from 1; 0: not known.
struct SourceLocation {
    std::string file;
    unsigned long line = 0;
    std::size_t column = 0;
};
// Reads `# 12 "file"` or `#line 12 "file"` as the location of the next line; false for other directives.
bool read_line_marker(std::string_view directive, SourceLocation &location);
// With `offset`, the position of that byte of the white space and directives before the token.
SourceLocation locate(std::string_view source, const std::vector<Token> &tokens, std::size_t index,
                      std::size_t offset = std::string_view::npos);

}  // namespace smtl::msl
