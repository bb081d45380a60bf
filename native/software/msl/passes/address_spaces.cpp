#include "address_spaces.h"

#include "msl/source/attributes.h"

namespace smtl::msl {

// `constant` becomes `const`, so that writing through it stays an error; the other spaces leave no trace. A source that
// is checked keeps them all: lint.h says what they are there. A source whose functions depend on spaces keeps those
// that are not the thread's own, in which everything lies that names no space: see spaces.h.
void erase_address_spaces_and_attributes(Source &source) {
    const Index end = source.size();
    for (Index i = 0; i < end; ++i) {
        if (source.opens_attribute(i)) {
            const Index past = source.skip_group(i, end);
            bool keep = false, indexed = false;
            for (const Attribute &attribute : attributes_in(source, {i, past})) {
                keep = keep || is_standard_attribute(attribute.name);
                indexed = indexed || attribute.name == "id";
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
            continue;
        }
        if (const Index past = past_coherence(source, i, end); past > i) {
            source.erase({i, past});
            i = past - 1;
            continue;
        }
        if (source.checking()) continue;
        Token &token = source[i];
        switch (space_named(source, i)) {
        case AddressSpace::none: break;
        case AddressSpace::constant: {
            const bool doubled = (i > 0 && source[i - 1].is("const")) || (i + 1 < end && source[i + 1].is("const"));
            token.replace(source.distinct() ? "SMTL_CONSTANT" : doubled ? "        " : "const   ");
            break;
        }
        case AddressSpace::device: token.replace(source.distinct() ? "SMTL_DEVICE" : "      "); break;
        case AddressSpace::threadgroup:
            if (source.distinct()) {
                token.replace("SMTL_THREADGROUP");
                break;
            }
            token.erase();
            break;
        default: token.erase();
        }
    }
}

}  // namespace smtl::msl
