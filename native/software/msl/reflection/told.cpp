#include "told.h"

#include <algorithm>

#include "msl/compile/diagnostics.h"

namespace smtl::msl {
namespace {

constexpr std::string_view answer = ": warning: 'told<", note = ": note: 'told<", end = "' is deprecated";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Fact read_fact(std::string_view text) {
    Fact numbers;
    for (std::size_t p = 0; p < text.size();) {
        if (!is_digit(text[p])) {
            ++p;
            continue;
        }
        std::uint64_t number = 0;
        for (; p < text.size() && is_digit(text[p]); ++p) number = number * 10 + static_cast<unsigned>(text[p] - '0');
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace

Questions::Questions()
    : text_(std::string(surroundings) + "#pragma clang diagnostic warning \"-Wdeprecated-declarations\"\n") {}

Told take_told(std::string_view messages) {
    Told told;
    bool answered = false;  // by the line before, which a note repeats
    for (std::size_t p = 0; p < messages.size();) {
        const std::size_t newline = std::min(messages.find('\n', p), messages.size());
        const std::string_view line = messages.substr(p, newline - p);
        p = newline + 1;
        // Numbers of a line that is not whole, as on a full disk, may lack digits.
        const bool whole = line.starts_with(surroundings_name) && line.ends_with(end);
        const std::size_t at = whole ? line.find(answer) : line.npos;
        if (at != line.npos)
            told.facts.push_back(read_fact(line.substr(at + answer.size())));
        else if (!answered || line.find(note) == line.npos)
            told.messages.append(line).append("\n");
        answered = at != line.npos;
    }
    return told;
}

}  // namespace smtl::msl
