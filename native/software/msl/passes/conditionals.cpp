// `c ? float4(0) : p[i]` in sources that keep their address spaces: clang finds no type for a value of a class and one
// of the same class that lies in a space. The operands become values first.
#include "translator.h"

namespace smtl::msl {

// Past the expression that begins there and that a comma, a semicolon, a bracket or the colon of a conditional around
// it ends. `end` where a `<` is no argument list's, since what it compares may not end there, or where the expression
// is longer than a real one: chains of conditionals would be looked through from each of them.
Index Translator::skip_branch(Index begin, Index end) const {
    constexpr std::size_t longest = 1 << 11;
    std::size_t inner = 0, steps = 0;
    for (Index i = begin; i < end && steps < longest; ++steps) {
        const Token &token = tokens_[i];
        if (token.is("(") || token.is("[") || token.is("{")) {
            i = skip_group(i, end);
            continue;
        }
        if (token.is("<")) {
            const auto past = skip_angles(i, end);
            if (!past || *past >= end || !(tokens_[*past].is("(") || tokens_[*past].is("::") || tokens_[*past].is("{")))
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

void Translator::edit_conditionals() {
    const Index end = tokens_.size() - 1;
    const auto load = [&](Range operand) {
        // A literal 0 may stand for a pointer.
        if (operand.empty() || (operand.begin + 1 == operand.end && tokens_[operand.begin].kind == TokenKind::number))
            return;
        tokens_[operand.begin - 1].appended += " (::smtl::operand(), (";
        tokens_[operand.end - 1].appended.insert(0, "))");
    };
    for (Index i = 0; i < end; ++i) {
        if (!tokens_[i].is("?")) continue;
        const Index colon = skip_branch(i + 1, end);
        if (!tokens_[colon].is(":")) continue;
        const Index past = skip_branch(colon + 1, end);
        if (past == end) continue;
        load({i + 1, colon});
        load({colon + 1, past});
    }
}

}  // namespace smtl::msl
