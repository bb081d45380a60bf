// What the compiler tells if it is asked: numbers that it computes, for which no code has to be generated.
// The header prelude/facts.h says how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {

// Numbers, of which the asker knows the order.
using Fact = std::vector<std::uint64_t>;

// Asks for the facts behind a source, whatever warnings the source has turned off.
class Questions {
public:
    Questions();
    // An expression, or several, with the types that prelude/facts.h has.
    void ask(const std::string &fact) { text_ += "static_assert(sizeof(smtl::told(" + fact + ")));\n"; }
    const std::string &text() const { return text_; }

private:
    std::string text_;
};

// Of what a compiler says, no more is read.
inline constexpr std::size_t most_told_bytes = std::size_t{1} << 26;

// In the order of the questions, unless the source has words of its own that look like answers.
struct Told {
    std::vector<Fact> facts;
    std::string messages;  // the others
};
Told take_told(std::string_view messages);

}  // namespace smtl::msl
