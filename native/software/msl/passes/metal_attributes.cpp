#include "metal_attributes.h"

#include <algorithm>
#include <string>

#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A comment is not read as C++, so the compiler would never see a wrong index.
void check_index(Source &source, const Attribute &attribute, Index past) {
    const std::string written = source.spelling(attribute.arguments);
    if (written.empty()) return source.problem(attribute.at, "[[id]] needs an index, as in '[[id(0)]]'");
    if (source.checking() || std::all_of(written.begin(), written.end(), is_digit)) return;
    const Index semicolon = source.skip_to_semicolon(past, source.size()) - 1;
    if (source[semicolon].is(";"))
        source[semicolon].appended += " static_assert(::smtl::is_index(" + written + "), \"[[id(" + written +
                                      ")]] needs an integer that is not negative\");";
}

}  // namespace

void erase_metal_attributes(Source &source) {
    const Index end = source.size();
    for (Index i = 0; i < end; ++i) {
        if (source.opens_attribute(i)) {
            const Index past = source.skip_group(i, end);
            bool keep = false, indexed = false;
            for (const Attribute &attribute : attributes_in(source, {i, past})) {
                keep = keep || is_standard_attribute(attribute.name);
                if (attribute.name != "id") continue;
                indexed = true;
                check_index(source, attribute, past);
            }
            // The index of a member stays for types.cpp to find: as a comment, or in a list that clang reads and passes
            // over.
            if (indexed && !keep) {
                source[i].replace("/");
                source[i + 1].replace("*");
                source[past - 2].replace("*");
                source[past - 1].replace("/");
            } else if (!keep) {
                source.erase({i, past});
            }
            i = past - 1;
        } else if (const Index past = past_coherence(source, i, end); past > i) {
            source.erase({i, past});
            i = past - 1;
        }
    }
}

}  // namespace smtl::msl
