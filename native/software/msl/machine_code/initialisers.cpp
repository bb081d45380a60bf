#include "initialisers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <elf.h>

#include "msl/reflection/reflection.h"

namespace smtl::msl {
namespace {

// For members clang reports this as an error already, under the names that the translation gave them, and adds notes
// that say why. Empty for other messages.
std::string constant_expression_error(const std::string &line) {
    constexpr std::string_view begin = "error: constexpr variable '",
                               end = "' must be initialized by a constant expression";
    const std::size_t at = line.find(begin);
    if (at == std::string::npos || !line.ends_with(end)) return {};
    const std::string name = line.substr(at + begin.size(), line.size() - end.size() - at - begin.size());
    return line.substr(0, at) + "error: '" + name + "' needs a constant expression as its initializer\n";
}

}  // namespace

DynamicInitialisers find_dynamic_initialisers(const std::string &messages) {
    constexpr std::string_view severity = "warning: ";
    DynamicInitialisers result;
    bool explained = false;
    for (std::size_t p = 0; p < messages.size();) {
        const std::size_t newline = std::min(messages.find('\n', p), messages.size());
        const std::string line = messages.substr(p, newline - p);
        p = newline + 1;
        explained = explained && line.find(" note: ") != std::string::npos;
        if (explained) continue;
        if (const std::string error = constant_expression_error(line); !error.empty()) {
            result.messages += error;
            explained = true;
            continue;
        }
        const std::size_t at = line.find("warning: declaration requires a");
        const bool constructor = line.find(" global constructor") != std::string::npos,
                   destructor = line.find(" destructor") != std::string::npos;
        if (at != std::string::npos && (constructor || destructor)) {
            const char *const what =
                constructor ? "a variable outside of functions needs a constant expression as its initializer\n"
                            : "a variable outside of functions cannot have a type with a destructor\n";
            result.errors += line.substr(0, at) + "error: " + what;
            explained = true;
        } else if (!line.ends_with(" generated.") || line.find(severity) != std::string::npos) {
            result.messages += line + "\n";
        }
    }
    return result;
}

bool may_silence_warnings(std::string_view translated, const std::string &own_headers) {
    for (const char *word : {"diagnostic", "system_header"})
        if (translated.find(word) != translated.npos) return true;
    constexpr std::string_view marker = "\n# ";
    for (std::size_t at = translated.find(marker); at != translated.npos; at = translated.find(marker, at + 1)) {
        const std::string_view rest = translated.substr(at + marker.size());
        const std::string_view line = rest.substr(0, rest.find('\n'));
        const std::size_t name = std::min(line.find('"'), line.size()), flags = std::min(line.rfind('"'), line.size());
        const std::string_view file = line.substr(name);
        const bool own = file.starts_with("\"" + own_headers + "/") || file.starts_with("\"<built-in>\"");
        if (!own && line.find('3', flags) != line.npos) return true;
    }
    return false;
}

std::string zero_variable(const FunctionConstant &constant) {
    return "SMTL_CONSTANT " + constant.type + " " + constant.name + " = (" + constant.type + ")0; ";
}

std::string define_function_constant(const FunctionConstant &constant, const std::string &variable, bool is_given) {
    std::string text, close;
    for (const std::string &name : constant.scope) {
        text += "namespace " + name + " { ";
        close += " }";
    }
    return text + variable + "const bool smtl_defined_" + constant.name + " = " + (is_given ? "true" : "false") + ";" +
           close + "\n";
}

std::string define_function_constants(const Translation &translation) {
    std::string text;
    for (const FunctionConstant &constant : translation.constants)
        text += define_function_constant(constant, zero_variable(constant), false);
    return text;
}

std::string missing_constants(std::string_view object) {
    std::string missing;
    for (const std::string &symbol : find_symbols(object, constant_symbol, /*defined=*/false)) missing += symbol + "\n";
    return missing;
}

bool has_initialisers(std::string_view object, bool instrumented) {
    constexpr std::array<std::string_view, 7> names = {".init",       ".fini",       ".ctors",        ".dtors",
                                                       ".init_array", ".fini_array", ".preinit_array"};
    std::size_t bytes = 0;
    const bool readable = each_section(object, [&](std::string_view name, const Elf64_Shdr &section) {
        const bool typed = section.sh_type == SHT_INIT_ARRAY || section.sh_type == SHT_FINI_ARRAY ||
                           section.sh_type == SHT_PREINIT_ARRAY;
        const bool named = std::any_of(names.begin(), names.end(), [&](std::string_view known) {
            return name == known || name.starts_with(std::string(known) + ".");
        });
        // The instrumentation has one address; the engine calls it.
        const bool own = instrumented && name == ".init_array.1" && section.sh_size == sizeof(std::uint64_t);
        if ((typed || named) && !own) bytes += section.sh_size;
    });
    return !readable || bytes > 0;
}

}  // namespace smtl::msl
