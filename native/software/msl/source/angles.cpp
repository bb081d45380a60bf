#include "angles.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>

namespace smtl::msl {
namespace {

using Names = std::set<std::string_view>;

bool names_type(const Token &token) {
    constexpr std::array<std::string_view, 6> keys = {"class", "struct", "union", "enum", "typename", "using"};
    return token.is_one_of(keys);
}

// What stands before and behind a name where it is declared as a variable, a parameter, a member, an enumerator or a
// function. What looks the same names a value, too: `a * b;`.
bool declares_value(const Token &before, const Token &name, const Token &behind) {
    constexpr std::array<std::string_view, 9> leads = {">", "*", "&", "&&", ",", "[", "{", "(", ")"};
    constexpr std::array<std::string_view, 11> follows = {"=", ";", ",", ")", "[", "]", "{", "}", "(", ":", ">"};
    if (!name.is_identifier() || !behind.is_one_of(follows)) return false;
    if (before.is_identifier()) return !begins_no_declaration(before) && !before.is("template") && !names_type(before);
    return before.is_one_of(leads) && !behind.is("(") && !behind.is(">");
}

// All names in the head of the template that is declared there; its arguments are left out. Returns the name of a
// variable.
std::optional<std::size_t> add_template(const std::vector<Token> &tokens, std::size_t i, Names &templates) {
    constexpr std::size_t longest = 256;
    constexpr std::array<std::string_view, 4> called = {"__attribute__", "alignas", "decltype", "requires"};
    std::size_t depth = 0, angles = 0;
    bool type = false;
    for (const std::size_t end = std::min(i + longest, tokens.size()); i < end; ++i) {
        const Token &token = tokens[i];
        if (token.is("(") || token.is("[")) {
            if (depth == 0 && angles == 0 && token.is("(") && !tokens[i - 1].is_one_of(called)) return std::nullopt;
            ++depth;
        } else if (token.is(")") || token.is("]")) {
            if (depth-- == 0) return std::nullopt;
        } else if (depth == 0 && token.is("<")) {
            ++angles;
        } else if (depth == 0 && token.is(">") && angles > 0) {
            --angles;
        } else if (depth == 0 && angles == 0 && (token.is(">") || token.is(",")) && !tokens[i - 1].is("operator")) {
            return std::nullopt;  // of a template that is an argument
        } else if (depth == 0 && (token.is("{") || token.is(";") || (angles == 0 && token.is("=")))) {
            const bool names = tokens[i - 1].is_identifier() && !tokens[i - 1].is("operator");
            if (!token.is(";") && names && !type && angles == 0) return i - 1;
            if (!token.is("=") || !tokens[i - 1].is("operator")) return std::nullopt;
        } else if (depth == 0 && angles == 0 && token.is_identifier()) {
            templates.insert(token.text);
            type = type || names_type(token);
        }
    }
    return std::nullopt;
}

// The library's templates of variables: `is_same_v`.
bool is_trait(std::string_view name) { return name.starts_with("is_") && name.ends_with("_v"); }

}  // namespace

std::vector<Angle> find_angles(const std::vector<Token> &tokens) {
    Names values, templates, variable_templates, types;
    std::set<std::size_t> heads;
    for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
        if (tokens[i - 1].is("template") && tokens[i].is("<")) {
            if (const auto name = add_template(tokens, i, templates)) {
                heads.insert(*name);
                variable_templates.insert(tokens[*name].text);
            }
        }
        if (tokens[i].is_identifier() && names_type(tokens[i - 1])) types.insert(tokens[i].text);
        if (declares_value(tokens[i - 1], tokens[i], tokens[i + 1]) && !heads.contains(i))
            values.insert(tokens[i].text);
    }
    std::vector<Angle> angles(tokens.size(), Angle::unknown);
    for (std::size_t i = 2; i + 2 < tokens.size(); ++i) {
        const Token &name = tokens[i - 1];
        if (!tokens[i].is("<") || !name.is_identifier()) continue;
        const bool member = tokens[i - 2].is(".") || tokens[i - 2].is("->"), value = values.contains(name.text);
        const bool variable = variable_templates.contains(name.text) || (!member && is_trait(name.text));
        if (tokens[i - 2].is("template") || (variable && !value)) {
            angles[i] = Angle::opens;
            continue;
        }
        if ((!member && !value) || templates.contains(name.text)) continue;
        // `array<int, 3>`, where a variable has the name `array`
        const Token &first = tokens[i + 1], &behind = tokens[i + 2];
        const bool type = names_arithmetic_type(first.text) || types.contains(first.text);
        const bool called = behind.is("(") || behind.is("{") || behind.is("::");
        // `array<texture2d<float>, 3>`, `array<device float *, 3>`
        const bool complex = first.is_identifier() && (behind.is("<") || behind.is_identifier());
        if (called || !(type || complex)) angles[i] = Angle::compares;
    }
    return angles;
}

}  // namespace smtl::msl
