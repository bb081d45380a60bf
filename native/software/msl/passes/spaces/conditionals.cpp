#include "conditionals.h"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {
namespace {

// Past the expression that begins there and that a comma, a semicolon, a bracket or the colon of a conditional around
// it ends. `end` if a `<` begins no argument list, since what it compares may not end there, or if the expression is
// longer than a real one: chains of conditionals would be looked through from each of them.
Index skip_branch(const Source &source, Index begin, Index end) {
    constexpr std::size_t longest = 1 << 11;
    std::size_t inner = 0, steps = 0;
    for (Index i = begin; i < end && steps < longest; ++steps) {
        const Token &token = source[i];
        if (token.is("(") || token.is("[") || token.is("{")) {
            i = source.skip_group(i, end);
            continue;
        }
        if (token.is("<")) {
            const auto past = source.skip_arguments(i, end);
            if (!past) return end;
            i = *past;
            continue;
        }
        if (token.is(">")) return end;
        if (token.is(",") || token.is(";") || token.is(")") || token.is("]") || token.is("}") ||
            (token.is(":") && inner == 0))
            return i;
        inner += token.is("?");
        inner -= token.is(":");
        ++i;
    }
    return end;
}

// Where the members of the structure begin whose key stands at `key`; `end` if none is defined there.
Index members_begin(const Source &source, Index key, Index end) {
    Index i = key + 1;
    while (i < end && (source[i].is_identifier() || source[i].is("::") || source[i].is(":") || source[i].is("(") ||
                       source.opens_attribute(i))) {
        const bool attribute = source[i].is("(") && (source[i - 1].is("alignas") || source[i - 1].is("__attribute__"));
        if (source[i].is("(") && !attribute) return end;
        i = attribute || source.opens_attribute(i) ? source.skip_group(i, end) : i + 1;
    }
    return i < end && source[i].is("{") ? i + 1 : end;
}

std::set<std::string_view> find_bit_fields(const Source &source) {
    std::set<std::string_view> names;
    const Index end = source.size() - 1;
    for (Index key = 0; key < end; ++key) {
        if (!source[key].is("struct") && !source[key].is("class") && !source[key].is("union")) continue;
        const Index begin = members_begin(source, key, end);
        if (begin == end) continue;
        const Index past = source.skip_group(begin - 1, end) - 1;
        for (Index i = begin; i < past;) {
            if (source[i].is(":") && source[i - 1].is_identifier()) names.insert(source[i - 1].text);
            i = source[i].is("(") || source[i].is("{") || source[i].is("[") ? source.skip_group(i, past) : i + 1;
        }
    }
    return names;
}

// Without the parentheses around all of it.
Range unwrapped(const Source &source, Range operand) {
    while (source[operand.begin].is("(") && source.skip_group(operand.begin, operand.end) == operand.end)
        operand = {operand.begin + 1, operand.end - 1};
    return operand;
}

// `decltype` of the operand; empty if its text is long or cannot be repeated. Each conditional around it repeats it
// again.
std::string type_of(const Source &source, Range operand) {
    constexpr std::size_t most_tokens = 1 << 8, most = 1 << 12;
    if (operand.empty() || operand.end - operand.begin > most_tokens) return {};
    std::string text = "decltype((";
    int depth = 0;
    for (Index i = operand.begin; i < operand.end; ++i) {
        const Token &token = source[i];
        if (!token.leading.empty()) text += ' ';
        (text += token.replaced ? token.replacement : std::string(token.text)) += token.appended;
    }
    for (const char letter : text) depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    // What an edit opened before the operand, it may have closed here. No closure can be repeated, nor statements.
    return depth == 2 && text.find('{') == text.npos && text.size() < most ? text + "))" : std::string();
}

}  // namespace

void edit_conditionals(Source &source) {
    const Index end = source.size() - 1;
    const std::set<std::string_view> bit_fields = find_bit_fields(source);
    std::vector<Index> questions;
    for (Index i = 0; i < end; ++i) {
        if (source.opens_attribute(i)) i = source.skip_group(i, end) - 1;
        if (source[i].is("?") && !source[i].erased) questions.push_back(i);
    }
    const auto mark = [&](Range operand, const std::string &types) {
        // A literal 0 may stand for a pointer, and no reference refers to a bit-field.
        if (operand.empty()) return;
        const Range inner = unwrapped(source, operand);
        if (inner.empty() || (inner.begin + 1 == inner.end && source[inner.begin].kind == TokenKind::number) ||
            bit_fields.contains(source[inner.end - 1].text))
            return;
        source[operand.begin - 1].appended += " (::smtl::operand" + types + "(), (";
        source[operand.end - 1].appended.insert(0, "))");
    };
    // Those within an operand first, since its type repeats them.
    for (auto question = questions.rbegin(); question != questions.rend(); ++question) {
        const Index colon = skip_branch(source, *question + 1, end);
        if (!source[colon].is(":")) continue;
        const Index past = skip_branch(source, colon + 1, end);
        if (past == end) continue;
        const Range one{*question + 1, colon}, other{colon + 1, past};
        const std::string first = type_of(source, one), second = type_of(source, other);
        const bool known = !first.empty() && !second.empty();
        const std::string types = known ? "<" + first + ", " + second + ">" : std::string();
        mark(one, types);
        mark(other, types);
    }
}

}  // namespace smtl::msl
