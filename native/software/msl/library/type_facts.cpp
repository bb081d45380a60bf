#include "type_facts.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unistd.h>
#include <utility>

#include "library.h"
#include "msl/compile/cache.h"
#include "msl/compile/deletion.h"
#include "msl/compile/diagnostics.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"
#include "msl/reflection/data_type.h"
#include "msl/reflection/told.h"

namespace smtl::msl {
namespace {

constexpr const char *facts_file = "/facts";

using FactsByName = std::map<std::string, StructureFacts>;
using Asked = FactsByName::value_type;

std::string definition(std::size_t number, const Asked &asked) {
    const auto &[name, facts] = asked;
    std::string text = "SMTL_TYPE_FACTS(" + std::to_string(number) + ", " + name;
    for (const Member &member : facts.members) {
        text += ", SMTL_MEMBER_FACTS(" + name + ", " + member.name + ", ";
        text += (member.index.empty() ? "smtl::no_index" : member.index) + ")";
    }
    return text + ")\n";
}

// The compiler's answers; empty if the source does not compile.
std::vector<Fact> answers(const smtl_library &library, const std::string &source) {
    const std::string key = "types-" + Hash().add(library.key).add(source).digest();
    const auto build = [&](const std::string &into) {
        std::string errors;
        const std::string precompiled = library.entry(nullptr, errors);
        const std::string input = into + "/input";
        if (precompiled.empty() || !write_file(input, source)) return false;
        std::vector<std::string> arguments = Toolchain::shared().compile_arguments(library.dialect);
        arguments.insert(arguments.end(),
                         {"-include-pch", precompiled + "/library.pch", "-x", "c++", "-fsyntax-only", "-"});
        ProcessBounds bounds;
        bounds.error_bytes = most_told_bytes;
        const ProcessResult result = Toolchain::shared().run(arguments, input, into, bounds);
        (void)unlink(input.c_str());
        (void)unlink((into + "/errors").c_str());
        return result.succeeded && write_file(into + facts_file, result.errors);
    };
    std::vector<Fact> facts;
    const auto work = [&] {
        const std::string folder = Cache::shared().entry(key, build);
        if (!folder.empty()) facts = take_told(read_file(folder + facts_file).value_or("")).facts;
        return !facts.empty();
    };
    bool deleted = false;
    (void)despite_deletion(work, deleted);
    return facts;
}

// One structure that the compiler does not know spoils the answer about all: then halves of them are asked for.
void ask(const smtl_library &library, std::span<Asked *const> asked) {
    if (asked.empty()) return;
    std::string source = std::string(surroundings);
    Questions questions;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        source += definition(i, *asked[i]);
        questions.ask("smtl::spread<smtl_type_facts_" + std::to_string(i) + ">::type()");
    }
    const std::vector<Fact> facts = answers(library, source + questions.text());
    for (const Fact &fact : facts)
        if (!fact.empty() && fact[0] < asked.size())
            asked[fact[0]]->second.bytes.assign(reinterpret_cast<const char *>(fact.data() + 1),
                                                (fact.size() - 1) * sizeof(std::uint64_t));
    if (!facts.empty() || asked.size() == 1) return;
    ask(library, asked.first(asked.size() / 2));
    ask(library, asked.subspan(asked.size() / 2));
}

std::vector<std::string> structures_in(const StructureFacts &facts) {
    std::vector<std::string> names;
    FactReader reader(facts.bytes);
    reader.next();
    reader.next();
    while (!reader.is_at_end()) {
        reader.next();
        reader.next();
        TypeLayer layer = reader.next_layer();
        while (!layer.is_last()) layer = reader.next_layer();
        if (!layer.name.empty()) names.push_back(std::move(layer.name));
    }
    return names;
}

}  // namespace

FactsByName facts_about(const smtl_library &library, const std::string &structure,
                        const std::function<bool(const std::string &)> &is_known) {
    const Structures source(library.translated);
    FactsByName all;
    std::vector<std::string> named = {structure};
    for (std::size_t level = 0; level < deepest_structure && !named.empty(); ++level) {
        std::vector<Asked *> asked;
        for (const std::string &name : named) {
            // The compiler's name of what is in an unnamed namespace cannot be written.
            if (is_known(name) || name.find('(') != name.npos) continue;
            const auto [added, is_new] = all.try_emplace(name);
            auto members = is_new ? source.members(name) : std::nullopt;
            if (!members || members->empty()) continue;
            added->second.members = std::move(*members);
            added->second.alone = source.is_alone(name);
            asked.push_back(&*added);
        }
        ask(library, asked);
        named.clear();
        for (const Asked *answered : asked)
            for (std::string &name : structures_in(answered->second)) named.push_back(std::move(name));
    }
    return all;
}

bool TypeLayer::is_last() const { return data_type != array_data_type && data_type != pointer_data_type; }

std::string_view FactReader::take(std::size_t size) {
    were_enough_ = were_enough_ && size <= bytes_.size();
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
}

std::uint64_t FactReader::next() {
    std::uint64_t word = 0;
    const std::string_view bytes = take(sizeof word);
    std::memcpy(&word, bytes.data(), bytes.size());
    return word;
}

TypeLayer FactReader::next_layer() {
    TypeLayer layer;
    layer.data_type = static_cast<std::uint32_t>(next());
    if (layer.data_type == array_data_type) {
        layer.length = next();
    } else if (layer.data_type == pointer_data_type) {
        layer.read_only = next() != 0;
    } else {
        layer.size = next();
        layer.alignment = next();
        // The name's length stands before it; it fills whole words.
        const std::uint64_t length = std::min<std::uint64_t>(next(), bytes_.size());
        layer.name = take((length + 7) / 8 * 8).substr(0, length);
    }
    return layer;
}

}  // namespace smtl::msl
