// The structures of a translated source that are plain, which means that they have data members alone: the members'
// names and what their [[id(n)]] say, as they are written.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "msl/source/token.h"

namespace smtl::msl {

struct Member {
    std::string name;
    std::string index;  // what [[id(...)]] says; empty without
};

// Not of those that stand around a type's name: `const`, `device`.
bool is_word_of_a_type(const Token &token);

class Structures {
public:
    // Of the source, which outlives this.
    explicit Structures(std::string_view translated);

    // The members of the structure that the compiler calls so; nothing if there is no such plain structure, or if it
    // may be another of that name.
    std::optional<std::vector<Member>> members(const std::string &name) const;
    // Whether one structure has the last word of the name.
    bool is_alone(const std::string &name) const;

private:
    struct Body {
        std::string name;  // that the compiler has for it
        std::size_t open, past;
    };

    const std::vector<Body> &bodies(const std::string &name) const;

    std::vector<Token> tokens_;
    std::map<std::string, std::vector<Body>, std::less<>> bodies_;  // by their last words
};

}  // namespace smtl::msl
