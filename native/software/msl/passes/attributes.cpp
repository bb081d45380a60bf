// Attributes and address spaces: read where they mean something, and taken out of what clang sees.
#include <array>

#include "translator.h"

namespace smtl::msl {
namespace {

// Attributes of standard C++ stay for clang to honour; `namespace::attribute` does too.
constexpr std::array<std::string_view, 8> standard_attributes = {
    "maybe_unused", "nodiscard", "noreturn", "fallthrough", "deprecated", "likely", "unlikely", "no_unique_address"};

AddressSpace address_space_named(std::string_view text) {
    if (text == "device") return AddressSpace::device;
    if (text == "constant") return AddressSpace::constant;
    if (text == "thread") return AddressSpace::thread;
    if (text == "threadgroup" || text == "threadgroup_imageblock") return AddressSpace::threadgroup;
    return AddressSpace::none;
}

}  // namespace

bool is_standard_attribute(std::string_view name) {
    for (std::string_view standard : standard_attributes) {
        if (name == standard) return true;
    }
    return name.ends_with("::");
}

std::vector<Attribute> Translator::attributes_in(Range range) const {
    std::vector<Attribute> attributes;
    for (Index i = range.begin; i < range.end;) {
        if (!opens_attribute(i)) {
            ++i;
            continue;
        }
        const Index past = skip_group(i, range.end);
        for (const Range &part : split_commas({i + 2, past >= 2 ? past - 2 : past})) {
            if (part.empty() || !tokens_[part.begin].is_identifier()) continue;
            Attribute attribute;
            attribute.name = std::string(tokens_[part.begin].text);
            attribute.at = part.begin;
            const Index open = part.begin + 1;
            if (open < part.end && tokens_[open].is("("))
                attribute.arguments = {open + 1, skip_group(open, part.end) - 1};
            if (open < part.end && tokens_[open].is("::")) attribute.name += "::";
            attributes.push_back(std::move(attribute));
        }
        i = past;
    }
    return attributes;
}

AddressSpace Translator::space_named(Index i) const {
    return tokens_[i].is_identifier() ? address_space_named(tokens_[i].text) : AddressSpace::none;
}

// The first address space in a declaration is that of what a pointer or reference points to.
AddressSpace Translator::address_space_of(Range range) const {
    for (Index i = range.begin; i < range.end; ++i) {
        if (opens_attribute(i)) {
            i = skip_group(i, range.end) - 1;
            continue;
        }
        const AddressSpace space = address_space_named(tokens_[i].text);
        if (space != AddressSpace::none) return space;
    }
    return AddressSpace::none;
}

// `coherent device float *`, `device coherent(system) uint *`: who sees a write, which processors keep coherent for
// everybody. Past the words; `at` where the name is something else.
Index Translator::past_coherence(Index at, Index end) const {
    if (!tokens_[at].is("coherent")) return at;
    const bool scoped =
        at + 3 < end && tokens_[at + 1].is("(") && tokens_[at + 2].is_identifier() && tokens_[at + 3].is(")");
    const Index past = scoped ? at + 4 : at + 1;
    const bool after = at > 0 && address_space_named(tokens_[at - 1].text) != AddressSpace::none;
    const bool before = past < end && address_space_named(tokens_[past].text) != AddressSpace::none;
    return after || before ? past : at;
}

// `constant` becomes `const`, so that writing through it stays an error; the other spaces leave no trace. A source that
// is checked keeps them all, see lint.h for what they are there; one whose functions depend on them keeps those that
// are not the thread's own, which is where everything is that names no space: see spaces.h.
void Translator::erase_address_spaces_and_attributes() {
    const Index end = tokens_.size();
    for (Index i = 0; i < end; ++i) {
        if (opens_attribute(i)) {
            const Index past = skip_group(i, end);
            bool keep = false, indexed = false;
            for (const Attribute &attribute : attributes_in({i, past})) {
                keep = keep || is_standard_attribute(attribute.name);
                indexed = indexed || attribute.name == "id";
            }
            // The index of a member stays for types.cpp to find: as a comment, or where clang reads the list and passes
            // over it.
            if (indexed && !keep) {
                tokens_[i].replace("/");
                tokens_[i + 1].replace("*");
                tokens_[past - 2].replace("*");
                tokens_[past - 1].replace("/");
            } else if (!keep) {
                erase_range({i, past});
            }
            i = past - 1;
            continue;
        }
        if (const Index past = past_coherence(i, end); past > i) {
            erase_range({i, past});
            i = past - 1;
            continue;
        }
        if (checking_) continue;
        Token &token = tokens_[i];
        switch (address_space_named(token.text)) {
        case AddressSpace::none: break;
        case AddressSpace::constant: {
            const bool doubled = (i > 0 && tokens_[i - 1].is("const")) || (i + 1 < end && tokens_[i + 1].is("const"));
            token.replace(distinct_ ? "SMTL_CONSTANT" : doubled ? "        " : "const   ");
            break;
        }
        case AddressSpace::device: token.replace(distinct_ ? "SMTL_DEVICE" : "      "); break;
        case AddressSpace::threadgroup:
            if (distinct_) {
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
