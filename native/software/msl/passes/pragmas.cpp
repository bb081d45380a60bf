#include "pragmas.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {
namespace {

constexpr std::string_view opening = "#pragma METAL";

// `fp name(value)`, or what is wrong with it.
struct Setting {
    std::string_view name, value;
    std::string problem;
};

Setting read_setting(const std::vector<Token> &words) {
    Setting setting;
    const auto is = [&](std::size_t i, std::string_view text) { return i < words.size() && words[i].is(text); };
    if (words.size() > 1) setting.name = words[1].text;
    if (words.size() > 3) setting.value = words[3].text;
    const bool formed = is(2, "(") && is(4, ")");
    const bool mode = setting.name == "math_mode", contract = setting.name == "contract";
    if (mode && !(formed && (setting.value == "safe" || setting.value == "relaxed" || setting.value == "fast")))
        setting.problem = "expected 'math_mode(safe)', 'math_mode(relaxed)' or 'math_mode(fast)'";
    else if (contract && !(formed && (setting.value == "off" || setting.value == "on" || setting.value == "fast")))
        setting.problem = "expected 'contract(off)', 'contract(on)' or 'contract(fast)'";
    return setting;
}

// What clang reads instead: nothing, as a rule. It stands `offset` bytes into what leads to the token.
std::string replace_pragma(Source &source, std::string_view text, Index token, std::size_t offset, bool &safe) {
    const std::vector<Token> words = tokenize(text);
    if (!words.front().is("fp")) return {};
    const Setting setting = read_setting(words);
    if (!setting.problem.empty())
        source.problem(token, setting.problem, offset);
    else if (setting.name == "math_mode")
        safe = safe || setting.value != "fast";
    else if (setting.name == "contract")
        return "#pragma clang fp contract(" + std::string(setting.value) + ")";
    return {};
}

}  // namespace

bool edit_pragmas(Source &source) {
    bool safe = false;
    for (Index i = 0; i < source.size(); ++i) {
        const Token &token = source[i];
        if (token.leading.find(opening) == std::string_view::npos) continue;
        std::string leading;
        for (std::size_t p = 0; p < token.leading.size();) {
            const std::size_t newline = std::min(token.leading.find('\n', p), token.leading.size());
            const std::string_view line = token.leading.substr(p, newline - p);
            if (line.starts_with(opening))
                leading += replace_pragma(source, line.substr(opening.size()), i, p, safe);
            else
                leading += line;
            if (newline < token.leading.size()) leading += '\n';
            p = newline + 1;
        }
        source.replace_leading(i, std::move(leading));
    }
    return safe;
}

}  // namespace smtl::msl
