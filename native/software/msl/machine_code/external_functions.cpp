#include "external_functions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <vector>

#include "text/lines.h"
#include "msl/compile/hash.h"
#include "msl/reflection/reflection.h"

namespace smtl::msl {
namespace {

constexpr std::string_view symbol_start = "smtl_external.";
constexpr std::size_t digest_length = 16;

bool is_part_of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

// The name that begins behind an `@`.
std::string_view name_at(std::string_view text, std::size_t begin) {
    std::size_t end = begin;
    while (end < text.size() && is_part_of_name(text[end])) ++end;
    return text.substr(begin, end - begin);
}

// The text up to the `stop` that no bracket of its own encloses.
std::string_view take_until(std::string_view text, std::string_view stop) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        if (quoted) continue;
        if (depth == 0 && stop.find(text[i]) != stop.npos) return text.substr(0, i);
        if (std::string_view("(<[{").find(text[i]) != std::string_view::npos) ++depth;
        if (std::string_view(")>]}").find(text[i]) != std::string_view::npos) --depth;
    }
    return text;
}

// The types of a module that have names: `%struct.S = type { ... }`
class NamedTypes {
public:
    explicit NamedTypes(std::string_view code) {
        while (!code.empty()) {
            const std::string_view line = take_line(code);
            if (!line.starts_with("%")) continue;
            const std::string_view name = take_until(line, " ");
            types_.emplace(name, line.substr(name.size()));
        }
    }

    // The text, and what the types are that it names, with those that they name in turn. Types of one name have numbers
    // behind it that another module does not give them: `%struct.S.3` is `%struct.S`, and the first type is `1`.
    std::string describe(std::string_view text) const {
        std::string described;
        std::vector<std::string_view> texts = {text};
        std::map<std::string_view, std::size_t> numbers;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            for (std::string_view rest = texts[i]; !rest.empty();) {
                const auto type = rest.front() == '%' ? types_.find(take_until(rest, " ,)>]}\n")) : types_.end();
                if (type == types_.end()) {
                    described += rest.front();
                    rest.remove_prefix(1);
                    continue;
                }
                const auto [number, added] = numbers.emplace(type->first, texts.size());
                if (added) texts.push_back(type->second);
                (described += without_number(type->first)) += " " + std::to_string(number->second);
                rest.remove_prefix(type->first.size());
            }
            described += '\n';
        }
        return described;
    }

private:
    static std::string_view without_number(std::string_view name) {
        const std::size_t last = name.find_last_not_of("0123456789\"");
        return last != name.npos && name[last] == '.' ? name.substr(0, last) : name;
    }

    std::map<std::string_view, std::string_view, std::less<>> types_;
};

// What a line of code says of a function's types: its result's, its parameters', and those of values that stand in
// memory of the caller's.
std::string types_of(std::string_view line, std::size_t name) {
    std::string types;
    for (std::string_view words = line.substr(0, name - 1); !words.empty();) {
        const std::string_view word = words.substr(0, words.find(' '));
        words.remove_prefix(std::min(word.size() + 1, words.size()));
        // Where a declaration stands in the source is attached to it.
        constexpr std::array<std::string_view, 6> others = {"declare", "define", "internal", "hidden", "dso_local", ""};
        if (!is_one_of(word, others) && !word.starts_with("!")) (types += word) += ' ';
    }
    line.remove_prefix(line.find('(', name) + 1);
    for (std::string_view list = take_until(line, ")"); !list.empty();) {
        const std::string_view parameter = take_until(list, ",");
        list.remove_prefix(std::min(parameter.size() + 2, list.size()));
        (types += ", ") += take_until(parameter, " ");
        for (const std::string_view in_memory : {" sret(", " byval("}) {
            const std::size_t at = parameter.find(in_memory);
            if (at == parameter.npos) continue;
            (types += in_memory) += take_until(parameter.substr(at + in_memory.size()), ")");
        }
    }
    return types;
}

std::string symbol_of(std::string_view name, const std::string &types) {
    return std::string(symbol_start) + Hash().add(types).digest().substr(0, digest_length) + "." + std::string(name);
}

}  // namespace

std::string name_external_functions(std::string_view code, bool exports) {
    const std::string section = " section \"" + std::string(exported_section) + "\"";
    std::map<std::string, std::string, std::less<>> renamed;
    std::string aliases;
    const NamedTypes named(code);
    for (std::string_view rest = code; !rest.empty();) {
        const std::string_view line = take_line(rest);
        const bool declares = line.starts_with("declare ");
        if (!declares && !(exports && line.starts_with("define ") && line.find(section) != line.npos)) continue;
        const std::size_t at = line.find('@') + 1;
        const std::string_view name = name_at(line, at);
        if (!name.starts_with("_Z")) continue;
        const std::string symbol = symbol_of(name, named.describe(types_of(line, at)));
        if (declares)
            renamed.emplace(name, symbol);
        else
            aliases += "@" + symbol + " = weak hidden alias void (), ptr @" + std::string(name) + "\n";
    }
    if (renamed.empty() && code.find(section) == code.npos) return std::string(code);
    std::string text;
    text.reserve(code.size());
    for (std::string_view rest = code; !rest.empty();) {
        std::string line(take_line(rest));
        if (line.starts_with("define ")) {
            if (const std::size_t at = line.find(section); at != line.npos) line.erase(at, section.size());
        }
        for (std::size_t at = line.find('@'); at != line.npos; at = line.find('@', at + 1)) {
            const auto known = renamed.find(name_at(line, at + 1));
            if (known != renamed.end()) line.replace(at + 1, known->first.size(), known->second);
        }
        text += line;
    }
    return text + aliases;
}

std::vector<std::string> called_functions(std::string_view object) {
    return find_symbols(object, symbol_start, /*defined=*/false);
}

std::vector<std::string> exported_functions(std::string_view object) {
    return find_symbols(object, symbol_start, /*defined=*/true);
}

std::string describe_external(const std::string &symbol) {
    const std::string name = symbol.substr(symbol_start.size() + digest_length + 1);
    int status = 0;
    const std::unique_ptr<char, void (*)(void *)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                       std::free);
    return status == 0 && text ? text.get() : name;
}

bool is_same_function(std::string_view symbol, std::string_view other) {
    constexpr std::size_t name = symbol_start.size() + digest_length;
    return symbol.size() > name && other.size() > name && symbol.substr(name) == other.substr(name);
}

}  // namespace smtl::msl
