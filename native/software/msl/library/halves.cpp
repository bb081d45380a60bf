#include "halves.h"

#include <algorithm>
#include <vector>

#include "msl/source/token.h"

namespace smtl::msl {

bool may_mix_halves(const Translation &translation) {
    bool half = false, bfloat = false;
    for (const Token &token : tokenize(translation.text)) {
        half = half || (token.is_identifier() && token.text.starts_with("half"));
        bfloat = bfloat || (token.is_identifier() && token.text.starts_with("bfloat"));
    }
    return half && bfloat;
}

MixedHalves find_mixed_halves(const std::string &messages) {
    constexpr std::string_view promotion = "warning: implicit conversion increases floating-point precision: ";
    MixedHalves result;
    bool kept = true;  // what the notes that follow belong to
    for (std::size_t p = 0; p < messages.size();) {
        const std::size_t newline = std::min(messages.find('\n', p), messages.size());
        const std::string line = messages.substr(p, newline - p);
        p = newline + 1;
        const std::size_t at = line.find(promotion);
        if (at != std::string::npos) {
            const bool mixed =
                line.find("_Float16", at) != std::string::npos && line.find("__bf16", at) != std::string::npos;
            kept = mixed;
            if (mixed)
                result.messages +=
                    line.substr(0, at) +
                    "error: half and bfloat cannot be combined in arithmetic: convert one of them, as in 'float(x)'\n";
            result.found = result.found || mixed;
            continue;
        }
        if (line.find(": note: ") == std::string::npos) kept = true;
        if (kept) result.messages += line + "\n";
    }
    return result;
}

}  // namespace smtl::msl
