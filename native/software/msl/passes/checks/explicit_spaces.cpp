#include "explicit_spaces.h"

#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

void check_parameters(Source &source, const Declaration &declaration) {
    for (const Range &part : source.split_commas(*declaration.parameters)) {
        if (address_space_of(source, part) != AddressSpace::none) continue;
        for (Index i = part.begin; i < part.end;) {
            if (source[i].is("=")) break;
            if (source[i].is("(") || source[i].is("[")) {
                i = source.skip_group(i, part.end);
                continue;
            }
            if (source[i].is("<")) {
                if (const auto past = source.skip_angles(i, part.end)) {
                    i = *past;
                    continue;
                }
            }
            if (source[i].is("*") || source[i].is("&")) {
                source.problem(
                    i,
                    "a pointer or reference needs an explicit address space: device, constant, threadgroup or thread");
                break;
            }
            ++i;
        }
    }
}

// A declaration `T *name` or `T &name` at the start of a statement. A product `a * b` would do nothing there, so nobody
// writes one; `auto` deduces its address space.
void check_local_pointers(Source &source, Range body) {
    for (Index i = body.begin + 1; i < body.end; ++i) {
        const Token &previous = source[i - 1];
        const bool begins =
            previous.is(";") || previous.is("{") || previous.is("}") || (previous.is("(") && source[i - 2].is("for"));
        if (!begins) continue;
        Index j = i;
        bool named = false;
        for (; j < body.end; ++j) {
            const Token &token = source[j];
            if (space_named(source, j) != AddressSpace::none || token.is("auto") || token.is("return")) break;
            if (token.is("<")) {
                const auto past = source.skip_angles(j, body.end);
                if (!past) break;
                j = *past - 1;
            } else if (token.is_identifier()) {
                named = true;
            } else if (!token.is("::")) {
                break;
            }
        }
        const Index symbol = j;
        while (j < body.end && (source[j].is("*") || source[j].is("&") || source[j].is("const"))) ++j;
        if (!named || j == symbol || j + 1 >= body.end || !source[j].is_identifier()) continue;
        const Token &next = source[j + 1];
        if (next.is("=") || next.is(";") || next.is(",") || next.is("[") || next.is("{") || next.is(":")) {
            source.problem(
                symbol,
                "a pointer or reference needs an explicit address space: device, constant, threadgroup or thread");
        }
    }
}

}  // namespace

void check_explicit_spaces(Source &source, const Declarations &declarations) {
    for (const Declaration &declaration : declarations) {
        if (declaration.erased) continue;
        if (declaration.parameters) check_parameters(source, declaration);
        if (declaration.kind == DeclarationKind::function && !declaration.body.empty())
            check_local_pointers(source, declaration.body);
    }
}

}  // namespace smtl::msl
