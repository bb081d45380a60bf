#include "compiler_facts.h"

#include <algorithm>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "cache.h"
#include "embedded.h"
#include "file.h"
#include "hash.h"
#include "process.h"
#include "toolchain.h"

namespace smtl::msl {
namespace {

constexpr const char *macros_name = "/macros";
constexpr const char *resources_name = "/resources";
constexpr const char *link_name = "/link";

// A word of a command as the compiler prints it: in quotes, with a backslash before what is special there.
std::string as_printed(std::string_view word) {
    std::string text = "\"";
    for (const char c : word) {
        if (c == '"' || c == '\\' || c == '$') text += '\\';
        text += c;
    }
    return text + "\"";
}

// The words of a command that the compiler prints.
std::vector<std::string> split_command(std::string_view text) {
    std::vector<std::string> words;
    bool inside = false;
    for (std::size_t i = 0; i < text.size() && text[i] != '\n'; ++i) {
        if (text[i] == '"') {
            inside = !inside;
            if (inside) words.emplace_back();
        } else if (inside) {
            i += text[i] == '\\' && i + 1 < text.size() ? 1 : 0;
            words.back() += text[i];
        }
    }
    return words;
}

// The driver writes a bare name for a linker that it does not find, and another program may since have removed it.
bool is_program(const std::string &path) { return path.starts_with("/") && access(path.c_str(), X_OK) == 0; }

// The last command that the compiler prints.
std::string last_command(const std::string &printed) {
    const std::size_t at = printed.rfind("\n \"");
    return printed.substr(at == std::string::npos ? 0 : at + 1);
}

std::string unlike_clang(const std::string &clang) { return clang + ": does not answer as clang does\n"; }

bool succeeded(const ProcessResult &result, const std::string &clang, std::string &errors) {
    if (!result.succeeded) errors += result.errors + "\n";
    if (result.silent) errors += unlike_clang(clang);
    return result.succeeded;
}

bool ask_macros(const std::string &clang, const std::string &work, const std::string &file, std::string &errors) {
    const ProcessResult result =
        run_process({clang, "-x", "c++", "-march=native", "-E", "-dM", "-o", file, "-"}, "", work);
    return succeeded(result, clang, errors);
}

bool ask_link_command(const std::string &clang, const std::string &work, const std::string &file, std::string &errors) {
    const std::string object = work + "/input.o", output = work + "/output";
    if (!write_file(object, "")) return false;
    // The host may have small stacks in use when a kernel first calls out: everything is bound when it is loaded. A
    // function with the names of -init and -fini would run as the kernel is loaded. libgcc has conversions that old
    // processors lack.
    const ProcessResult result =
        run_process({clang, "-###", "-shared", "-nostdlib", "-Wl,-z,now", "-Wl,--gc-sections", "-Wl,--build-id=none",
                     "-Wl,-init=,-fini=", "-o", output, object, "-Wl,--as-needed", "-lm", "-lgcc"},
                    "", work);
    if (!succeeded(result, clang, errors)) return false;
    std::string command = last_command(result.errors);
    for (const auto &[path, name] :
         {std::pair(object, Toolchain::link_input), std::pair(output, Toolchain::link_output)}) {
        const std::string word = as_printed(path);
        const std::size_t at = command.find(word);
        if (at == std::string::npos) return false;
        command.replace(at, word.size(), as_printed(name));
    }
    if (const std::vector<std::string> words = split_command(command); words.empty() || !is_program(words[0])) {
        errors += clang + ": finds no linker (ld); PATH is " + program_path() + "\n";
        return false;
    }
    return write_file(file, command);
}

// Among the words of the compiler's own command.
bool ask_resources(const std::string &clang, const std::string &work, const std::string &file, std::string &errors) {
    const ProcessResult result = run_process({clang, "-###", "-x", "c++", "-fsyntax-only", "-"}, "", work);
    if (!succeeded(result, clang, errors)) return false;
    const std::vector<std::string> words = split_command(last_command(result.errors));
    const auto option = std::find(words.begin(), words.end(), "-resource-dir");
    return option != words.end() && option + 1 != words.end() && write_file(file, option[1]);
}

bool ask_compiler(const std::string &clang, const std::string &folder, std::string &errors) {
    const std::string work = folder + "/work";
    const std::size_t said = errors.size();
    const bool good = make_folders(work) && ask_macros(clang, work, folder + macros_name, errors) &&
                      ask_link_command(clang, work, folder + link_name, errors) &&
                      ask_resources(clang, work, folder + resources_name, errors);
    if (!good && errors.size() == said) errors += unlike_clang(clang);
    remove_tree(work);
    return good;
}

// Changes with the processor, and with nothing that changes while it runs. Empty: not known.
std::string processor_identity() {
    std::string identity;
    const std::string text = read_file("/proc/cpuinfo", 1 << 14).value_or("");
    for (std::string_view rest = std::string_view(text).substr(0, text.find("\n\n")); !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        for (const char *key : {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features"})
            if (line.starts_with(key)) identity += std::string(line) + "\n";
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return identity;
}

}  // namespace

CompilerFacts facts_of(const std::string &clang, std::string &errors) {
    struct stat status{};
    const std::string processor = processor_identity();
    const auto read = [](const std::string &folder) {
        return CompilerFacts{read_file(folder + macros_name).value_or(""),
                             split_command(read_file(folder + link_name).value_or("")),
                             read_file(folder + resources_name).value_or("")};
    };
    const auto build = [&](const std::string &folder) { return ask_compiler(clang, folder, errors); };
    const auto ask = [&] {
        const TemporaryFolder folder(Cache::shared().root());
        return folder.made() && build(folder.path()) ? read(folder.path()) : CompilerFacts{};
    };
    if (stat(clang.c_str(), &status) != 0 || processor.empty()) return ask();
    const std::string key = Hash()
                                .add(smtl_embedded_translator)
                                .add(clang)
                                .add(static_cast<std::uint64_t>(status.st_ino))
                                .add(static_cast<std::uint64_t>(status.st_size))
                                .add(static_cast<std::uint64_t>(status.st_mtim.tv_sec))
                                .add(static_cast<std::uint64_t>(status.st_mtim.tv_nsec))
                                .add(processor)
                                .add(program_path())  // where the compiler looks for the linker
                                .digest();
    const std::string entry = Cache::shared().entry("compiler-" + key, build);
    if (entry.empty()) return {};
    CompilerFacts facts = read(entry);
    return facts.link_command.empty() || !is_program(facts.link_command[0]) ? ask() : facts;
}

}  // namespace smtl::msl
