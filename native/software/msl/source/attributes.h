// `[[...]]` and address spaces, as they stand in a source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source.h"

namespace smtl::msl {

struct Attribute {
    std::string name;
    Range arguments;
    Index at = 0;
};

// An attribute that stays for clang to honour.
bool is_standard_attribute(std::string_view name);

std::vector<Attribute> attributes_in(const Source &source, Range range);

// The address space that the word or the token names.
AddressSpace address_space_named(std::string_view text);
AddressSpace space_named(const Source &source, Index i);
// The first one in a declaration, which is that of what a pointer or reference points to.
AddressSpace address_space_of(const Source &source, Range range);

// `coherent device float *`, `device coherent(system) uint *`: the scope that sees a write. Processors keep memory
// coherent for all. Past the words; `at` if the name is something else.
Index past_coherence(const Source &source, Index at, Index end);

}  // namespace smtl::msl
