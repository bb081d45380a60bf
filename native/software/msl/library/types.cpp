// Structures are found by name in the translated source, which gives their members' names and [[id(n)]]; the compiler
// then says where each member lies and what it is.
#include "types.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <unistd.h>
#include <utility>

#include "library.h"
#include "msl/compile/cache.h"
#include "msl/compile/deletion.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/compile/process.h"
#include "msl/machine_code/machine_code.h"
#include "msl/reflection/data_type.h"
#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

constexpr std::uint32_t last_data_type = 124;
constexpr std::uint64_t no_index = ~std::uint64_t{0};
constexpr const char *facts_file = "/facts";

struct Member {
    std::string name;
    std::string index;  // what [[id(...)]] says; empty without
};

using Tokens = std::vector<Token>;
using Index = std::size_t;

bool opens(const Token &token) { return token.is("{") || token.is("(") || token.is("["); }
bool closes(const Token &token) { return token.is("}") || token.is(")") || token.is("]"); }

Index past_group(const Tokens &tokens, Index open) {
    int depth = 0;
    for (Index i = open; i < tokens.size(); ++i) {
        depth += opens(tokens[i]);
        depth -= closes(tokens[i]);
        if (depth == 0) return i + 1;
    }
    return tokens.size();
}

bool is_word_of_a_type(const Token &token) {
    return token.is_identifier() && !token.is("const") && !token.is("struct") && !token.is("volatile") &&
           address_space_named(token.text) == AddressSpace::none;
}

// The operand of `id(...)` in a list of attributes; empty if there is none.
std::string index_among(const Tokens &attributes, Index begin, Index end) {
    for (Index i = begin; i + 1 < end; i = opens(attributes[i]) ? past_group(attributes, i) : i + 1) {
        if (!attributes[i].is("id") || !attributes[i + 1].is("(")) continue;
        const Index past = past_group(attributes, i + 1);
        if (past > end) return {};
        return std::string(attributes[i + 1].text.data(), attributes[past - 1].text.data() + 1);
    }
    return {};
}

// Reads a list of attributes from the comment before a token that the list has become.
std::string index_before(const Token &token) {
    const std::size_t begin = token.leading.find("/*");
    if (begin == std::string_view::npos) return {};
    const std::string_view text = token.leading.substr(begin + 2);
    const Tokens inside = tokenize(text.substr(0, text.find("*/")));
    return index_among(inside, 0, inside.size() - 1);
}

// `int *a, b[2]` up to the token at `end`: nothing if one is not a plain member.
std::optional<std::vector<Member>> read_statement(const Tokens &tokens, Index begin, Index end) {
    std::vector<Member> members;
    std::string last_word, index;
    bool has_type = false;
    int depth = 0;
    const auto finish = [&] {
        if (!has_type || last_word.empty()) return false;
        members.push_back({std::exchange(last_word, {}), std::exchange(index, {})});
        return true;
    };
    for (Index i = begin; i < end; ++i) {
        const Token &token = tokens[i];
        if (std::string found = index_before(token); !found.empty()) index = std::move(found);
        if (token.is("[")) {
            const Index past = past_group(tokens, i);
            std::string found = tokens[i + 1].is("[") ? index_among(tokens, i + 2, past - 2) : "";
            if (!found.empty()) index = std::move(found);
            i = past - 1;
            continue;
        }
        depth += token.is("<");
        depth -= token.is(">");
        // Lengths may be computed.
        if (depth > 0) {
            if (opens(token)) i = past_group(tokens, i) - 1;
            continue;
        }
        if (token.is("(") || token.is(":") || token.is("static") || token.is("using") || token.is("typedef") ||
            token.is("{"))
            return std::nullopt;
        if (token.is("=")) {
            while (i + 1 < end && !tokens[i + 1].is(","))
                i = opens(tokens[i + 1]) ? past_group(tokens, i + 1) - 1 : i + 1;
        } else if (token.is(",")) {
            if (!finish()) return std::nullopt;
        } else if (is_word_of_a_type(token)) {
            has_type = has_type || !last_word.empty();
            last_word = std::string(token.text);
        }
    }
    if (std::string found = index_before(tokens[end]); !found.empty()) index = std::move(found);
    if (!finish()) return std::nullopt;
    return members;
}

std::optional<std::vector<Member>> read_body(const Tokens &tokens, Index begin, Index end) {
    std::vector<Member> members;
    for (Index i = begin; i < end;) {
        Index stop = i;
        while (stop < end && !tokens[stop].is(";")) stop = opens(tokens[stop]) ? past_group(tokens, stop) : stop + 1;
        if (stop > i) {
            auto statement = read_statement(tokens, i, stop);
            if (!statement) return std::nullopt;
            for (Member &member : *statement) members.push_back(std::move(member));
        }
        i = stop + 1;
    }
    return members;
}

// A structure's body, with the name that the compiler has for it.
struct Body {
    std::string name;
    Index open, past;
};

// `struct name { ... }` and `typedef struct { ... } name`, wherever they stand.
std::vector<Body> find_bodies(const Tokens &tokens, std::string_view name) {
    std::vector<Body> found;
    std::vector<std::pair<Index, std::string>> around;  // where it ends, and what stands before the names in it
    const auto enter = [&](Index open, const std::string &scope) {
        around.emplace_back(past_group(tokens, open), (around.empty() ? "" : around.back().second) + scope);
    };
    for (Index i = 0; i + 2 < tokens.size(); ++i) {
        while (!around.empty() && i >= around.back().first) around.pop_back();
        const std::string before = around.empty() ? "" : around.back().second;
        if (tokens[i].is("namespace")) {
            std::string scope;
            Index open = i + 1;
            for (; open < tokens.size() && (tokens[open].is_identifier() || tokens[open].is(":")); ++open)
                scope += tokens[open].text;
            // The compiler leaves out the names of inline namespaces.
            const bool is_said = !scope.empty() && (i == 0 || !tokens[i - 1].is("inline"));
            if (open < tokens.size() && tokens[open].is("{")) enter(open, is_said ? scope + "::" : "");
        }
        if (!tokens[i].is("struct")) continue;
        const bool tagged = tokens[i + 1].is_identifier();
        const Index open = i + (tagged ? 2 : 1);
        if (open >= tokens.size() || !tokens[open].is("{")) continue;
        const Index past = past_group(tokens, open);
        const bool aliased = i > 0 && tokens[i - 1].is("typedef") && past < tokens.size() && tokens[past].is(name);
        if (aliased || (tagged && tokens[i + 1].is(name))) found.push_back({before + std::string(name), open, past});
        if (tagged) enter(open, std::string(tokens[i + 1].text) + "::");
    }
    return found;
}

// The members of the structure; nothing if there is no such plain structure, or if it may be another of that name.
std::optional<std::vector<Member>> find_members(const Tokens &tokens, const std::vector<Body> &bodies,
                                                const std::string &name) {
    const auto has_name = [&](const Body &body) { return body.name == name; };
    const auto body = bodies.size() == 1 ? bodies.begin() : std::find_if(bodies.begin(), bodies.end(), has_name);
    if (body == bodies.end() || std::count_if(body + 1, bodies.end(), has_name) != 0) return std::nullopt;
    return read_body(tokens, body->open + 1, body->past - 1);
}

std::string facts_source(const std::string &name, const std::vector<Member> &members) {
    std::string text = "#include <prelude/types.h>\nSMTL_TYPE_FACTS(" + name;
    for (const Member &member : members) {
        text += ", SMTL_MEMBER_FACTS(" + name + ", " + member.name + ", ";
        text += (member.index.empty() ? "smtl::no_index" : member.index) + ")";
    }
    return text + ")\n";
}

// The compiler's answer; empty if the source does not compile.
std::string type_facts(const smtl_library &library, const std::string &source) {
    const std::string key = "types-" + Hash().add(library.key).add(source).digest();
    const auto build = [&](const std::string &into) {
        std::string errors;
        const std::string precompiled = library.entry(nullptr, errors);
        const std::string input = into + "/input";
        if (precompiled.empty() || !write_file(input, source)) return false;
        const ProcessResult result = compile_facts(library.dialect, precompiled, into, into + facts_file);
        (void)unlink(input.c_str());
        (void)unlink((into + "/errors").c_str());
        return result.succeeded;
    };
    std::string object;
    const auto work = [&] {
        const std::string folder = Cache::shared().entry(key, build);
        object = folder.empty() ? "" : read_file(folder + facts_file).value_or("");
        return !object.empty();
    };
    bool deleted = false;
    (void)despite_deletion(work, deleted);
    return std::string(find_section(object, "smtl_types"));
}

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
    return type;
}

}  // namespace

// The facts that the header prelude/types.h gives. Those that are missing are 0.
class TypeTable::Facts {
public:
    explicit Facts(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t next() {
        std::uint64_t word = 0;
        const std::string_view bytes = take(sizeof word);
        std::memcpy(&word, bytes.data(), bytes.size());
        return word;
    }
    // Its length stands before it; it fills whole words.
    std::string next_name() {
        const std::uint64_t length = std::min<std::uint64_t>(next(), bytes_.size());
        return std::string(take((length + 7) / 8 * 8).substr(0, length));
    }
    bool were_as_many() const { return were_enough_ && bytes_.empty(); }

private:
    std::string_view take(std::size_t size) {
        were_enough_ = were_enough_ && size <= bytes_.size();
        const std::string_view taken = bytes_.substr(0, size);
        bytes_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view bytes_;
    bool were_enough_ = true;
};

const smtl_type *TypeTable::read_type(const smtl_library &library, Facts &facts, Structure &owner) {
    smtl_type type{};
    type.data_type = static_cast<std::uint32_t>(facts.next());
    type.argument_count = 1;
    if (type.data_type == array_data_type) {
        type.length = facts.next();
        type.element = read_type(library, facts, owner);
        type.stride = type.element->size;
        type.size = type.length * type.stride;
        type.alignment = type.element->alignment;
        type.argument_count = type.length * type.element->argument_count;
    } else if (type.data_type == pointer_data_type) {
        type.access = facts.next() != 0 ? SMTL_ACCESS_READ_ONLY : SMTL_ACCESS_READ_WRITE;
        const bool was_whole = owner.whole;
        type.element = read_type(library, facts, owner);
        owner.whole = was_whole;  // a pointer takes one index, whatever it points to
        type.size = type.alignment = sizeof(void *);
    } else {
        type.size = facts.next();
        type.alignment = facts.next();
        const std::string name = facts.next_name();
        const smtl_type *known = name.empty() ? nullptr : structure(library, name);
        if (known != nullptr) return known;
        owner.whole = owner.whole && name.empty();
    }
    return &owner.parts.emplace_back(type);
}

bool TypeTable::fill(const smtl_library &library, const std::string &name, Structure &found) {
    const Tokens tokens = tokenize(library.translated);
    const std::vector<Body> bodies = find_bodies(tokens, std::string_view(name).substr(name.rfind(':') + 1));
    found.alone = bodies.size() == 1;
    const auto members = find_members(tokens, bodies, name);
    if (!members || members->empty()) return false;
    const std::string bytes = type_facts(library, facts_source(name, *members));
    Facts facts(bytes);
    // A member may point to an array of this very type.
    found.type.size = facts.next();
    found.type.alignment = facts.next();
    std::uint64_t next = 0;
    bool apart = true;
    for (const Member &member : *members) {
        const std::uint64_t offset = facts.next(), said = facts.next(), index = said == no_index ? next : said;
        const smtl_type *type = read_type(library, facts, found);
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
    return facts.were_as_many() && found.whole && apart;
}

// A structure that refers to itself is found while it is being filled. What lies deeper than real structures is not
// told: each takes a run of the compiler, and a part of the stack.
const smtl_type *TypeTable::structure(const smtl_library &library, const std::string &name) {
    constexpr std::size_t deepest = 64;
    if (depth_ == deepest && !structures_.contains(name)) return nullptr;
    auto &slot = structures_[name];
    if (slot == nullptr) {
        slot = std::make_unique<Structure>();
        slot->type.data_type = struct_data_type;
        slot->known = true;
        Structure &made = *slot;
        ++depth_;
        made.known = fill(library, name, made);
        --depth_;
    }
    return slot->known ? &slot->type : nullptr;
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
            // Packed vectors are aligned as a component, matrices as a column, and that, up to 16 bytes, to its size.
            const DataTypeShape shape = data_type_shape(type);
            const std::size_t part = size / (wanted.is_packed ? shape.components : shape.columns);
            known->second.alignment = part == 0 ? 1 : std::min<std::size_t>(part & -part, 16);
        }
        return &known->second;
    }
    const smtl_type *own = wanted.own.empty() ? nullptr : structure(library, wanted.own);
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
