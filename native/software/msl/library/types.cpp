#include "types.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "library.h"
#include "msl/reflection/data_type.h"
#include "msl/source/token.h"

namespace smtl::msl {
namespace {

constexpr std::uint32_t last_data_type = 124;
constexpr std::uint64_t no_index = ~std::uint64_t{0};

// The language's other names for scalars.
constexpr std::pair<std::string_view, std::string_view> fixed_widths[] = {
    {"int8_t", "char"}, {"uint8_t", "uchar"}, {"int16_t", "short"}, {"uint16_t", "ushort"},
    {"int32_t", "int"}, {"uint32_t", "uint"}, {"int64_t", "long"},  {"uint64_t", "ulong"}};

// A type in memory as it is named: of a packed vector its vector's name, of an atomic that of its value.
struct StoredType {
    std::string own, plain;
    bool is_packed = false;
};

// The name of a template's instance by its arguments; empty for templates of the source's own.
std::string instance_name(const std::vector<std::string> &words) {
    const std::string &name = words[0];
    if ((name == "vec" || name == "packed_vec") && words.size() == 3) return words[1] + words[2];
    if (name == "matrix" && words.size() >= 3) return words[1] + words[2] + "x" + words.back();
    if ((name == "atomic" || name == "_atomic") && words.size() == 2) return words[1];
    return {};
}

StoredType stored_type(std::string_view parameter_type) {
    std::vector<std::string> words;
    bool is_instance = false;
    for (const Token &token : tokenize(parameter_type)) {
        is_instance = is_instance || token.is("<");
        if (token.is("metal")) continue;
        if (is_word_of_a_type(token) || token.kind == TokenKind::number) words.emplace_back(token.text);
    }
    StoredType type;
    if (words.empty()) return type;
    for (const std::string &word : words)
        if (!is_instance) type.own += (type.own.empty() ? "" : "::") + word;
    type.plain = is_instance ? instance_name(words) : words.back();
    type.is_packed = words[0] == "packed_vec" || type.plain.starts_with("packed_");
    for (const std::string_view prefix : {"packed_", "atomic_"})
        if (type.plain.starts_with(prefix)) type.plain.erase(0, prefix.size());
    for (const auto &[name, scalar] : fixed_widths)
        if (type.plain == name) type.plain = scalar;
    return type;
}

}  // namespace

const smtl_type *TypeTable::read_type(const FactsByName &all, FactReader &facts, Structure &owner) {
    const TypeLayer layer = facts.next_layer();
    smtl_type type{};
    type.data_type = layer.data_type;
    type.argument_count = 1;
    if (type.data_type == array_data_type) {
        type.length = layer.length;
        type.element = read_type(all, facts, owner);
        type.stride = type.element->size;
        type.size = type.length * type.stride;
        type.alignment = type.element->alignment;
        type.argument_count = type.length * type.element->argument_count;
    } else if (type.data_type == pointer_data_type) {
        type.access = layer.read_only ? SMTL_ACCESS_READ_ONLY : SMTL_ACCESS_READ_WRITE;
        const bool was_whole = owner.whole;
        type.element = read_type(all, facts, owner);
        owner.whole = was_whole;  // a pointer takes one index, whatever it points to
        type.size = type.alignment = sizeof(void *);
    } else {
        type.size = layer.size;
        type.alignment = layer.alignment;
        const smtl_type *known = layer.name.empty() ? nullptr : structure(all, layer.name);
        if (known != nullptr) return known;
        owner.whole = owner.whole && layer.name.empty();
    }
    return &owner.parts.emplace_back(type);
}

bool TypeTable::fill(const FactsByName &all, const std::string &name, Structure &found) {
    const auto about = all.find(name);
    if (about == all.end()) return false;
    found.alone = about->second.alone;
    FactReader facts(about->second.bytes);
    // A member may point to an array of this very type.
    found.type.size = facts.next();
    found.type.alignment = facts.next();
    std::uint64_t next = 0;
    bool apart = true;
    for (const Member &member : about->second.members) {
        const std::uint64_t offset = facts.next(), said = facts.next(), index = said == no_index ? next : said;
        const smtl_type *type = read_type(all, facts, found);
        next = index + type->argument_count;
        for (const smtl_member &other : found.members)
            apart =
                apart && (next <= other.argument_index || other.argument_index + other.type->argument_count <= index);
        found.type.argument_count = std::max<std::size_t>(found.type.argument_count, next);
        found.members.push_back(
            {found.names.emplace_back(member.name).c_str(), offset, static_cast<std::uint32_t>(index), type});
    }
    found.type.members = found.members.data();
    found.type.member_count = found.members.size();
    return !about->second.bytes.empty() && facts.were_as_many() && found.whole && apart;
}

// A structure that refers to itself is found while it is being filled.
const smtl_type *TypeTable::structure(const FactsByName &all, const std::string &name) {
    if (depth_ == deepest_structure && !structures_.contains(name)) return nullptr;
    auto &slot = structures_[name];
    if (slot == nullptr) {
        slot = std::make_unique<Structure>();
        slot->type.data_type = struct_data_type;
        slot->known = true;
        Structure &made = *slot;
        ++depth_;
        made.known = fill(all, name, made);
        --depth_;
    }
    return slot->known ? &slot->type : nullptr;
}

const smtl_type *TypeTable::structure(const smtl_library &library, const std::string &name) {
    if (name.empty()) return nullptr;
    const auto is_known = [&](const std::string &other) { return structures_.contains(other); };
    return structure(is_known(name) ? FactsByName() : facts_about(library, name, is_known), name);
}

const smtl_type *TypeTable::find(const smtl_library &library, std::string_view parameter_type, std::size_t size) {
    const StoredType wanted = stored_type(parameter_type);
    const std::lock_guard lock(mutex_);
    depth_ = 0;
    for (std::uint32_t type = 3; type <= last_data_type; ++type) {
        if (wanted.plain != data_type_name(type)) continue;
        const auto [known, is_new] = builtin_.try_emplace({type, size, wanted.is_packed});
        // Others may be reading one that is known.
        if (is_new) {
            known->second.data_type = type;
            known->second.size = size;
            known->second.argument_count = 1;
            // Packed vectors are aligned as a component, matrices as a column, and that to its size.
            const DataTypeShape shape = data_type_shape(type);
            const std::size_t part = size / (wanted.is_packed ? shape.components : shape.columns);
            known->second.alignment = part == 0 ? 1 : part & -part;
        }
        return &known->second;
    }
    const smtl_type *own = structure(library, wanted.own);
    if (own == nullptr || own->size != size) return nullptr;
    // Inside a namespace a single word may name one of several structures.
    const bool is_path = wanted.own.find(':') != std::string::npos;
    return is_path || structures_.at(wanted.own)->alone ? own : nullptr;
}

}  // namespace smtl::msl

extern "C" const smtl_type *smtl_library_pointee(smtl_library *library, const smtl_argument *argument) {
    try {
        return library->types.find(*library, argument->type, argument->type_size);
    } catch (const std::exception &) {
        return nullptr;
    }
}
