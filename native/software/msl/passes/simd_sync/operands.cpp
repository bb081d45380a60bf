// What shuffles take. The value of an inactive lane is what that lane would compute from its own variables, so an
// operand counts that any lane can compute from variables alone: it reads no memory, changes nothing, cannot fail, and
// makes no lane wait.
#include <algorithm>
#include <array>

#include "function_sync.h"

namespace smtl::msl {
namespace {

// Functions of Metal's that read or change memory, or make lanes wait.
bool has_effect(std::string_view name) {
    for (const char *writer : {"modf", "frexp", "sincos", "swap"})
        if (name == writer) return true;
    return name.starts_with("__") || name.starts_with("atomic_") || name.ends_with("_barrier") ||
           is_lane_function(name);
}

// No integer is zero that has such a digit.
bool is_divisor(const Token &token) {
    return token.kind == TokenKind::number && token.text.find_first_of("123456789") != std::string_view::npos;
}

}  // namespace

// The shuffle's first argument, without parentheses around it.
Range FunctionSync::shuffled(Index call, Index end) const {
    Index open = 0;
    if (!is_call(call, end, open)) return {};
    Range operand{open + 1, open + 1};
    const Index past = source_.skip_group(open, end) - 1;
    while (operand.end < past && !source_[operand.end].is(",")) operand.end = source_.skip_part(operand.end, past);
    if (operand.end == past) return {};
    while (source_[operand.begin].is("(") && source_.skip_group(operand.begin, operand.end) == operand.end) {
        ++operand.begin;
        --operand.end;
    }
    return operand;
}

// A name that stands for no variable: of a type, a constant, or a function of Metal's.
bool FunctionSync::is_harmless(Index name) const {
    constexpr std::array<std::string_view, 10> words = {"true", "false",  "const",       "unsigned", "typename",
                                                        "vec",  "matrix", "static_cast", "as_type",  "metal"};
    const Token &token = source_[name];
    const bool called = source_[name + 1].is("(");
    if (lanes_.functions.contains(token.text)) return false;
    if (token.is_one_of(words) || names_arithmetic_type(token.text) || lanes_.types.contains(token.text)) return true;
    if (!called) return lanes_.constants.contains(token.text);
    return !has_effect(token.text);
}

std::vector<ShuffledVariable> FunctionSync::variables_of(Range operand, const FindVariable &find) const {
    constexpr std::array<std::string_view, 23> operators = {"(",  ")", "{",  "}",  ",",  "+",  "-", "~",
                                                            "!",  "|", "^",  "?",  ":",  "<",  ">", "<<",
                                                            ">>", ".", "::", "==", "!=", "<=", ">="};
    std::vector<ShuffledVariable> variables;
    // An operator of the source's own may make lanes wait, or what is called.
    const bool may_wait = lanes_.anything_talks || lanes_.calls_talk;
    if (operand.end - operand.begin > longest_location || (may_wait && operand.end - operand.begin > 1)) return {};
    for (Index i = operand.begin; i < operand.end; ++i) {
        const Token &token = source_[i], &before = source_[i - 1], &behind = source_[i + 1];
        const bool binary = i > operand.begin && ends_operand(before);
        if (token.is_identifier()) {
            const std::optional<Index> declared = find(token.text);
            if (before.is(".")) {
                if (behind.is("(")) return {};
            } else if (before.is("::") || !declared) {
                if (!is_harmless(i)) return {};
            } else if (*declared == 0 || behind.is("(") || behind.is("{") || behind.is("::")) {
                return {};
            } else if (std::none_of(variables.begin(), variables.end(),
                                    [&](const ShuffledVariable &other) { return other.declared == *declared; })) {
                variables.push_back({token.text, *declared});
            }
        } else if (token.is("[")) {
            const bool component = before.is_identifier() && behind.kind == TokenKind::number &&
                                   source_[i + 2].is("]") && !lanes_.functions.contains("operator");
            if (!component) return {};
            i += 2;
        } else if (token.is("/") || token.is("%")) {
            if (!is_divisor(behind)) return {};
        } else if (token.is("*") || token.is("&") || token.is("&&") || token.is("||")) {
            if (!binary) return {};
        } else if (token.kind == TokenKind::punctuator && token.is("<") && source_.may_open_arguments(i)) {
            // Arguments of a template are constants, which variables of another lane are not.
            const auto past = source_.skip_angles(i, operand.end);
            for (Index k = i; past && k < *past; ++k)
                if (source_[k].is_identifier() && find(source_[k].text)) return {};
        } else if (token.kind == TokenKind::string || token.kind == TokenKind::end ||
                   (token.kind == TokenKind::punctuator &&
                    std::none_of(operators.begin(), operators.end(), [&](auto text) { return token.is(text); }))) {
            return {};
        }
    }
    return variables;
}

}  // namespace smtl::msl
