// Literals, casts and types that mean something else in Metal than in C++.
#include "translator.h"

namespace smtl::msl {

// `1.5h` and `1.5bf` are numbers of Metal alone, and `1.5` is a float: Metal has no double.
void Translator::edit_literals() {
    for (Token &token : tokens_) {
        if (token.kind != TokenKind::number || token.text.size() < 2) continue;
        const std::string_view text = token.text;
        const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
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

// Clang converts between its 16-bit floating-point types in no way, Metal does so when told to.
void Translator::edit_casts() {
    bool bfloat = false;
    for (const Token &token : tokens_) bfloat = bfloat || token.text.starts_with("bfloat");
    if (!bfloat) return;
    for (Index i = 0; i + 2 < tokens_.size(); ++i) {
        if (!tokens_[i].is("static_cast") || !tokens_[i + 1].is("<")) continue;
        const auto past = skip_angles(i + 1, tokens_.size() - 1);
        if (!past || !tokens_[*past].is("(") || tokens_[*past + 1].is("{")) continue;
        bool value = true;
        for (Index j = i + 2; j < *past; ++j) value = value && !tokens_[j].is("*") && !tokens_[j].is("&") && !tokens_[j].is("&&") && !tokens_[j].is("void");
        if (value) tokens_[i].replace("::smtl::value_cast");
    }
}

void Translator::reject_double() {
    for (Index i = 0; i < tokens_.size(); ++i) {
        if (tokens_[i].is("double")) problem(i, "'double' is not supported in Metal");
    }
}

}  // namespace smtl::msl
