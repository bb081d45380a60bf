// Literals, casts and types that mean something else in Metal than in C++.
#include <set>
#include <string_view>

#include "translator.h"

namespace smtl::msl {

// `1.5h` and `1.5bf` are numbers of Metal alone, and `1.5` is a float: Metal has no double.
void Translator::edit_literals() {
    for (Token &token : tokens_) {
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

// Clang converts between its 16-bit floating-point types in no way, Metal does so when told to: casts to these types
// and to template parameters, in each of their forms, become calls of a function that goes by way of float.
void Translator::edit_casts() {
    bool bfloat = false;
    std::set<std::string_view> names = {"half", "bfloat"};
    for (Index i = 0; i + 2 < tokens_.size(); ++i) {
        bfloat = bfloat || tokens_[i].text.starts_with("bfloat");
        // Other names of the two, and whatever may stand for them in a template.
        if ((tokens_[i].is("typename") || tokens_[i].is("class")) && tokens_[i + 1].is_identifier())
            names.insert(tokens_[i + 1].text);
        if (tokens_[i].is("typedef") && names.contains(tokens_[i + 1].text) && tokens_[i + 2].is_identifier())
            names.insert(tokens_[i + 2].text);
        const bool alias = tokens_[i].is("using") && tokens_[i + 2].is("=") && i + 3 < tokens_.size() &&
                           names.contains(tokens_[i + 3].text);
        if (alias && tokens_[i + 4].is(";")) names.insert(tokens_[i + 1].text);
    }
    if (!bfloat) return;
    const Index end = tokens_.size() - 1;
    for (Index i = 0; i + 2 < tokens_.size(); ++i) {
        if (tokens_[i].erased) continue;
        if (tokens_[i].is("static_cast") && tokens_[i + 1].is("<")) {
            const auto past = skip_angles(i + 1, end);
            if (!past || !tokens_[*past].is("(") || tokens_[*past + 1].is("{")) continue;
            bool value = true;
            for (Index j = i + 2; j < *past; ++j)
                value = value && !tokens_[j].is("*") && !tokens_[j].is("&") && !tokens_[j].is("&&") &&
                        !tokens_[j].is("void");
            if (value) tokens_[i].replace("::smtl::value_cast");
        } else if (names.contains(tokens_[i].text) && tokens_[i + 1].is("(")) {
            const Index begin = i >= 3 && tokens_[i - 1].is("::") && tokens_[i - 2].is("metal") ? i - 2 : i;
            const bool type_only =
                i + 3 < end && tokens_[i + 3].is(")") && names.contains(tokens_[i + 2].text);  // `half(half)`
            if (type_only || !is_functional_cast(begin, i, end)) continue;
            tokens_[i].replace("::smtl::value_cast<" + std::string(tokens_[i].text) + ">");
            for (Index j = begin; j < i; ++j) tokens_[j].erase();
        } else if (const Index name = i + (tokens_[i + 1].is("metal") && tokens_[i + 2].is("::") ? 3 : 1);
                   i > 0 && tokens_[i].is("(") && name + 1 < end && names.contains(tokens_[name].text) &&
                   tokens_[name + 1].is(")")) {
            // What stands before tells `(half)x` from the parameters of a function.
            const Token &before = tokens_[i - 1];
            const bool expression = before.kind == TokenKind::punctuator
                                        ? !before.is(")") && !before.is("]") && !before.is(">")
                                        : before.is("return");
            const Index past = expression ? skip_operand(name + 2, end) : name + 2;
            if (past == name + 2) continue;
            tokens_[i].replace("::smtl::value_cast<");
            tokens_[name + 1].replace(">(");
            tokens_[past - 1].appended.insert(0, ")");
        }
    }
}

// `half(x)` with one value, in a place where an expression stands. It begins at its name or, qualified, before.
bool Translator::is_functional_cast(Index begin, Index name, Index end) const {
    if (begin < 3) return false;
    const Token &before = tokens_[begin - 1];
    bool expression = before.is("return") || before.is("case") || before.is("else");
    if (before.is(")")) {  // `(float)half(x)`
        const bool qualified = begin > 5 && tokens_[begin - 3].is("::") && tokens_[begin - 4].is("metal");
        expression = tokens_[begin - 2].is_identifier() && tokens_[qualified ? begin - 5 : begin - 3].is("(");
    } else if (before.kind == TokenKind::punctuator) {
        expression = true;
        for (const char *other : {".", "->", "::", "~", ";", "}", "]"}) expression = expression && !before.is(other);
    }
    const Index past = skip_group(name + 1, end);
    if (!expression || past <= name + 3) return false;
    const std::vector<Range> values = split_commas({name + 2, past - 1});
    if (values.size() != 1 || tokens_[name + 2].is("*") || tokens_[name + 2].is("&") || tokens_[name + 2].is("{"))
        return false;
    // A function in a template argument list, or one that is declared: types in the parentheses, or a body behind them.
    for (Index i = name + 2; i + 1 < past;) {
        if (tokens_[i].is("...")) return false;
        if (tokens_[i].is_identifier() && tokens_[i + 1].is_identifier()) return false;
        i = tokens_[i].is("(") || tokens_[i].is("[") || tokens_[i].is("{") ? skip_group(i, past) : i + 1;
    }
    return !tokens_[past].is("{");
}

// Past an operand of a cast: signs before, calls, subscripts and members behind a name, a number or parentheses;
// `begin` where none is understood.
Index Translator::skip_operand(Index begin, Index end) const {
    Index i = begin;
    for (bool prefix = true; prefix && i < end;) {
        prefix = tokens_[i].is("-") || tokens_[i].is("+") || tokens_[i].is("!") || tokens_[i].is("~") ||
                 tokens_[i].is("*") || tokens_[i].is("++") || tokens_[i].is("--");
        i += prefix;
    }
    if (i >= end) return begin;
    if (tokens_[i].is("(")) {
        i = skip_group(i, end);
    } else if (tokens_[i].is_identifier() || tokens_[i].is("::")) {
        for (bool more = true; more && i < end;) {
            i += tokens_[i].is("::");
            if (i >= end || !tokens_[i].is_identifier()) return begin;
            ++i;
            if (i < end && tokens_[i].is("<")) {
                const auto past = skip_angles(i, end);
                if (past && *past < end &&
                    (tokens_[*past].is("(") || tokens_[*past].is("::") || tokens_[*past].is("{")))
                    i = *past;
            }
            more = i < end && tokens_[i].is("::");
        }
    } else if (tokens_[i].kind == TokenKind::number) {
        ++i;
    } else {
        return begin;
    }
    while (i < end) {
        if (tokens_[i].is("(") || tokens_[i].is("[") ||
            (tokens_[i].is("{") && i > begin && tokens_[i - 1].is_identifier())) {
            i = skip_group(i, end);
        } else if ((tokens_[i].is(".") || tokens_[i].is("->")) && i + 1 < end && tokens_[i + 1].is_identifier()) {
            i += 2;
        } else if (tokens_[i].is("++") || tokens_[i].is("--")) {
            ++i;
        } else {
            break;
        }
    }
    return i;
}

void Translator::reject_double() {
    for (Index i = 0; i < tokens_.size(); ++i) {
        if (tokens_[i].is("double")) problem(i, "'double' is not supported in Metal");
    }
}

}  // namespace smtl::msl
