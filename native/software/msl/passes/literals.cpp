#include "literals.h"

#include <string>

#include "msl/source/literal.h"

namespace smtl::msl {

void edit_literals(Source &source) {
    for (Index i = 0; i < source.size(); ++i) {
        Token &token = source[i];
        if (token.erased || token.kind != TokenKind::number || token.text.size() < 2) continue;
        std::string written = written_literal(token.text);
        if (written != token.text) token.replace(std::move(written));
    }
}

void reject_double(Source &source) {
    for (Index i = 0; i < source.size(); ++i)
        if (source[i].is("double")) source.problem(i, "'double' is not supported in Metal");
}

}  // namespace smtl::msl
