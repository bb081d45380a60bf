// Damages a source: bytes, pieces that change what stands around them, tokens deleted, doubled, exchanged.
#ifndef SMTL_TESTS_MUTATOR_H
#define SMTL_TESTS_MUTATOR_H

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Pieces that change what stands around them.
inline const std::vector<std::string> pieces = {"<",
                                                ">",
                                                "(",
                                                ")",
                                                "[",
                                                "]",
                                                "{",
                                                "}",
                                                "[[",
                                                "]]",
                                                ";",
                                                ",",
                                                "::",
                                                "\"",
                                                "'",
                                                "/*",
                                                "//",
                                                "\n#line 3\n",
                                                "\n#",
                                                "R\"(",
                                                "template",
                                                "template <",
                                                "kernel",
                                                "constant",
                                                "threadgroup",
                                                "device",
                                                "thread",
                                                "operator",
                                                "namespace",
                                                "struct",
                                                "using",
                                                "half(",
                                                "(half)",
                                                "static_cast<",
                                                "typename T",
                                                "[[function_constant(",
                                                "is_function_constant_defined(",
                                                "[[host_name(\"",
                                                "=",
                                                "...",
                                                "\\\n",
                                                std::string(1, '\0'),
                                                "\xff",
                                                "1.5h",
                                                "0x",
                                                "~"};

class Mutator {
public:
    explicit Mutator(std::uint64_t seed) : random_(seed) {}

    std::string mutate_tokens(const std::string &text) {
        std::vector<std::string> tokens;
        for (std::size_t i = 0, end; i < text.size(); i = end) {
            const auto word = [&](std::size_t at) {
                return std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_';
            };
            for (end = i + 1; end < text.size() && word(i) && word(end);) ++end;
            tokens.push_back(text.substr(i, end - i));
        }
        for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
            const std::size_t at = below(tokens.size());
            switch (below(6)) {
            case 0: tokens[at].clear(); break;
            case 1: tokens[at] += " " + tokens[at]; break;
            case 2: std::swap(tokens[at], tokens[below(tokens.size())]); break;
            case 3: tokens[at] = tokens[below(tokens.size())]; break;
            case 4: tokens[at] += " " + pieces[below(pieces.size())] + " "; break;
            default:
                for (std::size_t n = below(300); n > 0; --n) tokens[at] += tokens[at].substr(0, 1);
            }
        }
        std::string result;
        for (const std::string &token : tokens) result += token;
        return result;
    }

    std::string mutate(std::string text) {
        for (std::size_t edits = 1 + below(12); edits > 0; --edits) {
            const std::size_t at = below(text.size() + 1);
            const std::size_t length = std::min(below(40), text.size() - at);
            switch (below(5)) {
            case 0: text.erase(at, length); break;
            case 1: text.insert(at, pieces[below(pieces.size())]); break;
            case 2: text.insert(below(text.size() + 1), text.substr(at, length)); break;
            case 3:
                if (at < text.size()) text[at] = char(below(256));
                break;
            default: {
                // Repeats one piece many times: nobody writes sources so deep or long.
                const std::string &piece = pieces[below(pieces.size())];
                std::string run;
                for (std::size_t n = below(2000); n > 0; --n) run += piece;
                text.insert(at, run);
            }
            }
        }
        return text;
    }

private:
    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : std::size_t(random_() % bound); }
    std::mt19937_64 random_;
};

#endif
