#include "metal_attributes.h"

#include "msl/source/attributes.h"

namespace smtl::msl {

void erase_metal_attributes(Source &source) {
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
        } else if (const Index past = past_coherence(source, i, end); past > i) {
            source.erase({i, past});
            i = past - 1;
        }
    }
}

}  // namespace smtl::msl
