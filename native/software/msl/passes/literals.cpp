#include "literals.h"

#include <string>
#include <string_view>

namespace smtl::msl {

// `1.5h` and `1.5bf` are numbers of Metal alone, and `1.5` is a float: Metal has no double.
void edit_literals(Source &source) {
    for (Index i = 0; i < source.size(); ++i) {
        Token &token = source[i];
        if (token.erased || token.kind != TokenKind::number || token.text.size() < 2) continue;
        const std::string_view text = token.text;
        const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
        if (!hexadecimal && (text.ends_with("h") || text.ends_with("H")) &&
            text.find_first_not_of("0123456789") == text.size() - 1) {
            token.replace("half(" + std::string(text.substr(0, text.size() - 1)) + ".0f)");
            continue;
        }
        if (text.find_first_of(hexadecimal ? "pP" : ".eE") == std::string_view::npos) continue;
        const char last = text.back();
        if (last == 'h' || last == 'H') {
            token.replace("half(" + std::string(text.substr(0, text.size() - 1)) + "f)");
        } else if (text.ends_with("bf") || text.ends_with("BF")) {
            token.replace("bfloat(" + std::string(text.substr(0, text.size() - 2)) + "f)");
        } else if ((last >= '0' && last <= '9') || last == '.') {
            token.replace(std::string(text) + "f");
        }
    }
}

void reject_double(Source &source) {
    for (Index i = 0; i < source.size(); ++i) {
        if (source[i].is("double")) source.problem(i, "'double' is not supported in Metal");
    }
}

}  // namespace smtl::msl
