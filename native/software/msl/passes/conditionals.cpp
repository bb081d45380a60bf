#include "conditionals.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "msl/source/attributes.h"

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
            const auto past = source.skip_angles(i, end);
            if (!past || *past >= end || !(source[*past].is("(") || source[*past].is("::") || source[*past].is("{")))
                return end;
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

std::set<std::string_view> find_bit_fields(const Source &source, const Declarations &declarations) {
    std::set<std::string_view> names;
    for (const Declaration &declaration : declarations) {
        if (declaration.kind != DeclarationKind::variable || !declaration.member) continue;
        for (Index i = declaration.begin + 1; i < declaration.end; ++i) {
            if (source[i].is(":")) names.insert(source[i - 1].text);
        }
    }
    return names;
}

// Alike but for subscripts: of one type.
bool are_elements(const Source &source, Range one, Range other) {
    Index i = one.begin, j = other.begin;
    for (; i < one.end && j < other.end && source[i].text == source[j].text; ++i, ++j) {
        if (!source[i].is("[")) continue;
        i = source.skip_group(i, one.end) - 1;
        j = source.skip_group(j, other.end) - 1;
    }
    return i == one.end && j == other.end && source[one.end - 1].is("]");
}

// The result of the conditional whose `?` stands there and that ends before `past` keeps its space.
class Places {
public:
    Places(const Source &source, const Declarations &declarations) : source_(source) {
        for (const Declaration &declaration : declarations) {
            const Range head{declaration.begin, declaration.name_begin};
            if (!declaration.body.empty() && declaration.parameters && !head.empty() && source[head.end - 1].is("&"))
                functions_.push_back(declaration.body);
        }
    }
    bool contain(Index question, Index past) const;

private:
    bool refers_to_space(Index declaration, Index name) const;

    const Source &source_;
    std::vector<Range> functions_;  // that return references, in the source's order
};

bool Places::contain(Index question, Index past) const {
    constexpr std::size_t longest = 1 << 11;
    Index assignment = 0, begin = question;
    for (std::size_t steps = 0; begin > 0 && steps < longest; --begin, ++steps) {
        const Token &before = source_[begin - 1];
        if (before.is(")") || before.is("]")) {
            begin = source_.group_begin(begin - 1) + 1;
            continue;
        }
        if (before.is("(") || before.is("[") || before.is("{") || before.is("}") || before.is(";")) break;
        if (before.is("=")) assignment = begin - 1;
    }
    if (begin < 2) return false;
    const bool enclosed = source_[begin - 1].is("(") && source_[past].is(")");
    if (enclosed && begin > 2 && source_[begin - 2].is("&")) {
        const Token &before = source_[begin - 3];
        return before.is("return") || !(before.is_identifier() || ends_operand(before));
    }
    if (source_[begin].is("return") || (enclosed && source_[begin - 2].is("return"))) {
        const auto after = std::partition_point(functions_.begin(), functions_.end(),
                                                [&](const Range &body) { return body.begin < begin; });
        if (after != functions_.begin() && begin < std::prev(after)->end) return true;
    }
    return assignment > begin + 2 && source_[assignment - 2].is("&") && refers_to_space(begin, assignment - 1);
}

// `auto &` cannot refer to a value, and so both operands lie in one space.
bool Places::refers_to_space(Index declaration, Index name) const {
    bool space = false, deduced = false, unchanging = false;
    for (Index i = declaration; i < name; ++i) {
        space = space || space_named(source_, i) != AddressSpace::none;
        deduced = deduced || source_[i].is("auto");
        unchanging = unchanging || source_[i].is("const");
    }
    return space || (deduced && !unchanging);
}

}  // namespace

void edit_conditionals(Source &source, const Declarations &declarations) {
    const Index end = source.size() - 1;
    const std::set<std::string_view> bit_fields = find_bit_fields(source, declarations);
    const Places places(source, declarations);
    const auto drop_space = [&](Range operand) {
        // A literal 0 may stand for a pointer, and no reference refers to a bit-field.
        if (operand.empty() || (operand.begin + 1 == operand.end && source[operand.begin].kind == TokenKind::number) ||
            bit_fields.contains(source[operand.end - 1].text))
            return;
        source[operand.begin - 1].appended += " (::smtl::operand(), (";
        source[operand.end - 1].appended.insert(0, "))");
    };
    for (Index i = 0; i < end; ++i) {
        if (source.opens_attribute(i)) i = source.skip_group(i, end) - 1;
        if (!source[i].is("?")) continue;
        const Index colon = skip_branch(source, i + 1, end);
        if (!source[colon].is(":")) continue;
        const Index past = skip_branch(source, colon + 1, end);
        if (past == end || places.contain(i, past)) continue;
        if (are_elements(source, {i + 1, colon}, {colon + 1, past})) continue;
        drop_space({i + 1, colon});
        drop_space({colon + 1, past});
    }
}

}  // namespace smtl::msl
