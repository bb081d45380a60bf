#include "bases.h"

#include <string>
#include <vector>

namespace smtl::msl {
namespace {

constexpr Index longest = 1 << 8;

// The colon behind a structure's name; 0: none.
Index find_colon(const Source &source, Index key) {
    Index i = key + 1;
    while (i + 1 < source.size() && i < key + longest) {
        const Token &token = source[i];
        if (token.is(":")) return i;
        if (source.opens_attribute(i) || (token.is("(") && i > key + 1))
            i = source.skip_group(i, source.size() - 1);
        else if (token.is("<"))
            i = source.skip_angles(i, source.size() - 1).value_or(source.size());
        else if (token.is_identifier() || token.is("::"))
            ++i;
        else
            break;
    }
    return 0;
}

// The brace behind the bases; 0: none.
Index find_body(const Source &source, Index colon) {
    for (Index i = colon + 1; i + 1 < source.size() && i < colon + longest;
         i = source.skip_part(i, source.size() - 1)) {
        const Token &token = source[i];
        if (token.is("{")) return i;
        if (token.is(";") || token.is(")") || token.is(":") || token.is("=") || token.is("struct")) break;
    }
    return 0;
}

std::string name_of_base(const Source &source, Range base) {
    while (!base.empty() && (source[base.begin].is("public") || source[base.begin].is("private") ||
                             source[base.begin].is("protected") || source[base.begin].is("virtual")))
        ++base.begin;
    return source.written(base);
}

}  // namespace

void move_members(Source &source) {
    for (Index i = 0; i + 1 < source.size(); ++i) {
        const bool structure = source[i].is("struct") || source[i].is("class");
        if (!structure || (i > 0 && source[i - 1].is("enum"))) continue;
        const Index colon = find_colon(source, i), body = colon != 0 ? find_body(source, colon) : 0;
        if (body == 0) continue;
        const std::vector<Range> bases = source.split_commas({colon + 1, body});
        std::string names;
        for (const Range &base : bases) names += (names.empty() ? "" : ", ") + name_of_base(source, base);
        const bool members = !source[body + 1].is("}");
        std::string text = members ? " ::smtl::members_begin<" + names + "> : 0;" : "";
        if (bases.size() > 1)
            text += " static_assert(!::smtl::overlap<" + names +
                    ">, \"of a structure's bases, only the last may end in padding\");";
        source[body].appended.insert(0, text);
    }
}

}  // namespace smtl::msl
