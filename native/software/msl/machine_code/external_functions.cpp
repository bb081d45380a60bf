#include "external_functions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>

#include "lines.h"
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

// What a line of code says of a function's result: its type and, if it stands in memory of the caller's, which.
std::string result_of(std::string_view line, std::size_t name) {
    std::string result;
    for (std::string_view words = line.substr(0, name - 1); !words.empty();) {
        const std::string_view word = words.substr(0, words.find(' '));
        words.remove_prefix(std::min(word.size() + 1, words.size()));
        // Where a declaration stands in the source is attached to it.
        constexpr std::array<std::string_view, 6> others = {"declare", "define", "internal", "hidden", "dso_local", ""};
        if (!is_one_of(word, others) && !word.starts_with("!")) (result += word) += ' ';
    }
    constexpr std::string_view in_memory = " sret(";
    if (const std::size_t at = line.find(in_memory); at != line.npos)
        result += line.substr(at, line.find(')', at) - at);
    return result;
}

std::string symbol_of(std::string_view name, std::string_view line, std::size_t at) {
    return std::string(symbol_start) + Hash().add(result_of(line, at)).digest().substr(0, digest_length) + "." +
           std::string(name);
}

}  // namespace

std::string name_external_functions(std::string_view code, bool exports) {
    const std::string section = " section \"" + std::string(exported_section) + "\"";
    std::map<std::string, std::string, std::less<>> renamed;
    std::string aliases;
    for (std::string_view rest = code; !rest.empty();) {
        const std::string_view line = take_line(rest);
        const bool declares = line.starts_with("declare ");
        if (!declares && !(exports && line.starts_with("define ") && line.find(section) != line.npos)) continue;
        const std::size_t at = line.find('@') + 1;
        const std::string_view name = name_at(line, at);
        if (!name.starts_with("_Z")) continue;
        if (declares)
            renamed.emplace(name, symbol_of(name, line, at));
        else
            aliases += "@" + symbol_of(name, line, at) + " = hidden alias void (), ptr @" + std::string(name) + "\n";
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
