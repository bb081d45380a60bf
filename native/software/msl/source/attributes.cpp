#include "attributes.h"

#include <array>

namespace smtl::msl {
namespace {

// Attributes of standard C++ stay for clang to honour; `namespace::attribute` does too.
constexpr std::array<std::string_view, 8> standard_attributes = {
    "maybe_unused", "nodiscard", "noreturn", "fallthrough", "deprecated", "likely", "unlikely", "no_unique_address"};

}  // namespace

AddressSpace address_space_named(std::string_view text) {
    if (text == "device") return AddressSpace::device;
    if (text == "constant") return AddressSpace::constant;
    if (text == "thread") return AddressSpace::thread;
    if (text == "threadgroup" || text == "threadgroup_imageblock") return AddressSpace::threadgroup;
    return AddressSpace::none;
}

bool is_standard_attribute(std::string_view name) {
    for (std::string_view standard : standard_attributes)
        if (name == standard) return true;
    return name.ends_with("::");
}

std::vector<Attribute> attributes_in(const Source &source, Range range) {
    std::vector<Attribute> attributes;
    for (Index i = range.begin; i < range.end;) {
        if (!source.opens_attribute(i)) {
            ++i;
            continue;
        }
        const Index past = source.skip_group(i, range.end);
        for (const Range &part : source.split_commas({i + 2, past >= 2 ? past - 2 : past})) {
            if (part.empty() || !source[part.begin].is_identifier()) continue;
            Attribute attribute;
            attribute.name = std::string(source[part.begin].text);
            attribute.at = part.begin;
            const Index open = part.begin + 1;
            if (open < part.end && source[open].is("("))
                attribute.arguments = {open + 1, source.skip_group(open, part.end) - 1};
            if (open < part.end && source[open].is("::")) attribute.name += "::";
            attributes.push_back(std::move(attribute));
        }
        i = past;
    }
    return attributes;
}

AddressSpace space_named(const Source &source, Index i) {
    return source[i].is_identifier() ? address_space_named(source[i].text) : AddressSpace::none;
}

AddressSpace address_space_of(const Source &source, Range range) {
    for (Index i = range.begin; i < range.end; ++i) {
        if (source.opens_attribute(i)) {
            i = source.skip_group(i, range.end) - 1;
            continue;
        }
        const AddressSpace space = address_space_named(source[i].text);
        if (space != AddressSpace::none) return space;
    }
    return AddressSpace::none;
}

Index past_coherence(const Source &source, Index at, Index end) {
    if (!source[at].is("coherent")) return at;
    const bool scoped =
        at + 3 < end && source[at + 1].is("(") && source[at + 2].is_identifier() && source[at + 3].is(")");
    const Index past = scoped ? at + 4 : at + 1;
    const bool after = at > 0 && address_space_named(source[at - 1].text) != AddressSpace::none;
    const bool before = past < end && address_space_named(source[past].text) != AddressSpace::none;
    return after || before ? past : at;
}

}  // namespace smtl::msl
