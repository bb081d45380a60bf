#include "token.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace smtl::msl {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes above 127 are parts of UTF-8 identifiers.
bool starts_identifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}
bool continues_identifier(char c) { return starts_identifier(c) || is_digit(c); }

// `>>` stays two tokens: closing template brackets are matched one by one, and adjacent tokens are written back
// adjacent. `>>=` closes none.
constexpr std::array<std::string_view, 29> long_punctuators = {
    "<<=", ">>=", "...", "->*", "::", "->", "++", "--", "<<", "<=", ">=", "==", "!=", "&&", "||",
    "+=",  "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", ".*", "<:", ":>", "<%", "%>", "%:"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> operator_words = {{{"and", "&&"},
                                                                                           {"and_eq", "&="},
                                                                                           {"bitand", "&"},
                                                                                           {"bitor", "|"},
                                                                                           {"compl", "~"},
                                                                                           {"not", "!"},
                                                                                           {"not_eq", "!="},
                                                                                           {"or", "||"},
                                                                                           {"or_eq", "|="},
                                                                                           {"xor", "^"},
                                                                                           {"xor_eq", "^="}}};

class Tokenizer {
public:
    explicit Tokenizer(std::string_view source) : source_(source) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        tokens.reserve(source_.size() / 4 + 1);
        for (;;) {
            Token token;
            const std::size_t leading = position_;
            skip_leading();
            token.leading = source_.substr(leading, position_ - leading);
            const std::size_t start = position_;
            token.kind = scan();
            token.text = token.meaning = source_.substr(start, position_ - start);
            if (token.is_identifier()) read_operator(token);
            const bool last = token.kind == TokenKind::end;
            tokens.push_back(std::move(token));
            if (last) return tokens;
        }
    }

private:
    char at(std::size_t offset) const {
        return position_ + offset < source_.size() ? source_[position_ + offset] : '\0';
    }
    bool done() const { return position_ >= source_.size(); }

    void skip_leading() {
        while (!done()) {
            const char c = source_[position_];
            if (is_space(c)) {
                line_start_ |= c == '\n' || c == '\r';
                ++position_;
            } else if (c == '#' && line_start_) {
                while (!done() && source_[position_] != '\n') ++position_;
            } else if (c == '/' && at(1) == '/') {
                while (!done() && source_[position_] != '\n') ++position_;
            } else if (c == '/' && at(1) == '*') {
                const std::size_t close = source_.find("*/", position_ + 2);
                position_ = close == std::string_view::npos ? source_.size() : close + 2;
            } else if (c == '\\' && (at(1) == '\n' || (at(1) == '\r' && at(2) == '\n'))) {
                position_ += at(1) == '\n' ? 2 : 3;
            } else {
                line_start_ = false;
                return;
            }
        }
    }

    // What is spelt as a name and is none.
    static void read_operator(Token &token) {
        for (const auto &[word, meaning] : operator_words) {
            if (token.text != word) continue;
            token.kind = TokenKind::punctuator;
            token.meaning = meaning;
        }
    }

    TokenKind scan() {
        if (done()) return TokenKind::end;
        const char c = source_[position_];
        if (starts_identifier(c)) {
            const std::size_t start = position_;
            while (!done() && continues_identifier(source_[position_])) ++position_;
            return scan_prefixed(source_.substr(start, position_ - start));
        }
        if (is_digit(c) || (c == '.' && is_digit(at(1)))) return scan_number();
        if (c == '"') return scan_quoted('"', TokenKind::string);
        if (c == '\'') return scan_quoted('\'', TokenKind::character);
        for (std::string_view punctuator : long_punctuators) {
            // `f<::g>` has no `<:`; `a<:::g:>` does.
            if (punctuator == "<:" && at(2) == ':' && at(3) != ':' && at(3) != '>') continue;
            if (source_.substr(position_, punctuator.size()) == punctuator) {
                position_ += punctuator.size();
                return TokenKind::punctuator;
            }
        }
        ++position_;
        return TokenKind::punctuator;
    }

    // After an identifier: the encoding prefix of a literal, or the identifier itself.
    TokenKind scan_prefixed(std::string_view identifier) {
        const bool encoding = identifier == "u8" || identifier == "u" || identifier == "U" || identifier == "L";
        const bool raw =
            identifier == "R" || identifier == "u8R" || identifier == "uR" || identifier == "UR" || identifier == "LR";
        if (raw && at(0) == '"') return scan_raw_string();
        if (encoding && at(0) == '"') return scan_quoted('"', TokenKind::string);
        if (encoding && at(0) == '\'') return scan_quoted('\'', TokenKind::character);
        return TokenKind::identifier;
    }

    TokenKind scan_number() {
        while (!done()) {
            const char c = source_[position_];
            const char previous = position_ > 0 ? source_[position_ - 1] : '\0';
            const bool sign =
                (c == '+' || c == '-') && (previous == 'e' || previous == 'E' || previous == 'p' || previous == 'P');
            const bool separator = c == '\'' && continues_identifier(at(1));
            if (!continues_identifier(c) && c != '.' && !sign && !separator) break;
            ++position_;
        }
        return TokenKind::number;
    }

    // A literal that its line does not close ends with the line: the compiler reports it.
    TokenKind scan_quoted(char quote, TokenKind kind) {
        ++position_;
        while (!done() && source_[position_] != '\n') {
            const char c = source_[position_++];
            if (c == quote) break;
            if (c == '\\' && !done()) ++position_;
        }
        return kind;
    }

    TokenKind scan_raw_string() {
        constexpr std::size_t longest_delimiter = 16;
        const std::size_t found = source_.substr(position_ + 1, longest_delimiter + 1).find('(');
        const std::size_t open = position_ + 1 + found;
        if (found == std::string_view::npos) return scan_quoted('"', TokenKind::string);
        std::string close = ")";
        close += source_.substr(position_ + 1, open - position_ - 1);
        close += '"';
        const std::size_t end = source_.find(close, open);
        position_ = end == std::string_view::npos ? source_.size() : end + close.size();
        return TokenKind::string;
    }

    std::string_view source_;
    std::size_t position_ = 0;
    bool line_start_ = true;
};

}  // namespace

bool ends_operand(const Token &token) {
    constexpr std::array<std::string_view, 4> words = {"return", "else", "do", "case"};
    if (token.is_identifier()) return !token.is_one_of(words);
    return token.kind == TokenKind::number || token.is(")") || token.is("]");
}

bool begins_no_declaration(const Token &token) {
    constexpr std::array<std::string_view, 14> words = {"return",  "else",     "do",     "goto",    "case",
                                                        "default", "new",      "delete", "throw",   "using",
                                                        "break",   "continue", "sizeof", "operator"};
    return token.is_one_of(words);
}

bool begins_head(const Token &token) {
    constexpr std::array<std::string_view, 5> words = {"if", "for", "while", "switch", "constexpr"};
    return token.is_one_of(words);
}

bool names_arithmetic_type(std::string_view name) {
    constexpr std::array<std::string_view, 23> scalars = {
        "bool",    "char",     "uchar",   "short",    "ushort",  "int",      "uint",     "long",
        "ulong",   "half",     "void",    "bfloat",   "size_t",  "float",    "int8_t",   "uint8_t",
        "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "ptrdiff_t"};
    constexpr std::string_view packed = "packed_";
    if (name.starts_with(packed)) name.remove_prefix(packed.size());
    const std::size_t dimensions = name.find_last_not_of("0123456789x") + 1;
    return is_one_of(name, scalars) || is_one_of(name.substr(0, dimensions), scalars);
}

std::vector<Token> tokenize(std::string_view source) { return Tokenizer(source).run(); }

std::string write(const std::vector<Token> &tokens) {
    std::string text;
    for (const Token &token : tokens) {
        text += token.leading;
        if (token.replaced)
            text += token.replacement;
        else
            text += token.text;
        text += token.appended;
    }
    return text;
}

bool read_line_marker(std::string_view directive, SourceLocation &location) {
    std::size_t i = 1;
    const auto skip_blanks = [&] {
        while (i < directive.size() && (directive[i] == ' ' || directive[i] == '\t')) ++i;
    };
    skip_blanks();
    if (directive.substr(i, 4) == "line") i += 4;
    skip_blanks();
    if (i >= directive.size() || !is_digit(directive[i])) return false;
    unsigned long line = 0;
    for (; i < directive.size() && is_digit(directive[i]); ++i)
        line = line * 10 + static_cast<unsigned long>(directive[i] - '0');
    location.line = line;
    skip_blanks();
    if (i < directive.size() && directive[i] == '"') {
        location.file.clear();
        for (++i; i < directive.size() && directive[i] != '"'; ++i) {
            if (directive[i] == '\\' && i + 1 < directive.size()) ++i;
            location.file += directive[i];
        }
    }
    return true;
}

SourceLocation locate(std::string_view source, const std::vector<Token> &tokens, std::size_t index,
                      std::size_t offset) {
    SourceLocation location{"program_source", 1, 0};
    for (std::size_t i = 0; i <= index && i < tokens.size(); ++i) {
        const std::string_view leading = tokens[i].leading.substr(0, i == index ? offset : std::string_view::npos);
        for (std::size_t p = 0; p < leading.size();) {
            const std::size_t newline = leading.find('\n', p);
            const std::string_view line = leading.substr(p, newline == std::string_view::npos ? newline : newline - p);
            const bool marker = !line.empty() && line[0] == '#' && read_line_marker(line, location);
            if (newline == std::string_view::npos) break;
            if (!marker) ++location.line;
            p = newline + 1;
        }
        if (i == index) break;
        for (char c : tokens[i].text) location.line += c == '\n';
    }
    if (index >= tokens.size()) return location;
    // Texts refer to the source always, what leads to them until it is edited.
    const auto start = static_cast<std::size_t>(tokens[index].text.data() - source.data());
    const std::size_t position =
        offset == std::string_view::npos ? start : start - tokens[index].leading.size() + offset;
    const std::size_t newline = source.substr(0, position).rfind('\n');
    location.column = position - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    return location;
}

}  // namespace smtl::msl
