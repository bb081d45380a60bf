#include "compiler_facts.h"

#include <algorithm>
#include <string_view>
#include <sys/stat.h>
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

bool ask_compiler(const std::string &clang, const std::string &folder, std::string &errors) {
    const std::string work = folder + "/work";
    const std::string object = work + "/input.o";
    bool good = make_folders(work) && write_file(object, "");
    ProcessResult result;
    if (good)
        result =
            run_process({clang, "-x", "c++", "-march=native", "-E", "-dM", "-o", folder + macros_name, "-"}, "", work);
    good = good && result.succeeded;
    if (good) {
        // The host may have small stacks in use when a kernel first calls out: everything is bound when it is loaded.
        // libgcc has conversions that old processors lack.
        result = run_process({clang, "-###", "-shared", "-nostdlib", "-Wl,-z,now", "-Wl,--gc-sections",
                              "-Wl,--build-id=none",
                              // A function of such a name would run as the kernel is loaded.
                              "-Wl,-init=,-fini=", "-o", work + "/output", object, "-Wl,--as-needed", "-lm", "-lgcc"},
                             "", work);
        std::string command = result.errors.substr(
            result.errors.rfind("\n \"") == std::string::npos ? 0 : result.errors.rfind("\n \"") + 1);
        for (const auto &[path, name] :
             {std::pair(object, Toolchain::link_input), std::pair(work + "/output", Toolchain::link_output)}) {
            const std::string word = as_printed(path);
            const std::size_t at = command.find(word);
            good = good && at != std::string::npos;
            if (good) command.replace(at, word.size(), as_printed(name));
        }
        good = good && result.succeeded && write_file(folder + link_name, command);
    }
    if (good) {
        // The words of its own command: -resource-dir, and the folder.
        result = run_process({clang, "-###", "-x", "c++", "-fsyntax-only", "-"}, "", work);
        const std::vector<std::string> words =
            split_command(result.errors.substr(std::min(result.errors.find("\n \""), result.errors.size() - 1) + 1));
        const auto option = std::find(words.begin(), words.end(), "-resource-dir");
        good = result.succeeded && option != words.end() && option + 1 != words.end() &&
               write_file(folder + resources_name, option[1]);
    }
    if (!good) errors += result.errors.empty() ? clang + ": failed\n" : result.errors + "\n";
    remove_tree(work);
    return good;
}

// Changes with the processor, and with nothing that changes while it runs. Empty: not known.
std::string processor_identity() {
    std::string identity;
    const std::string text = read_file("/proc/cpuinfo", 1 << 14).value_or("");
    for (std::string_view rest = std::string_view(text).substr(0, text.find("\n\n")); !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        for (const char *key : {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features"}) {
            if (line.starts_with(key)) identity += std::string(line) + "\n";
        }
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
    if (stat(clang.c_str(), &status) != 0 || processor.empty()) {
        const TemporaryFolder folder(Cache::shared().root());
        return folder.made() && build(folder.path()) ? read(folder.path()) : CompilerFacts{};
    }
    const std::string key = Hash()
                                .add(smtl_embedded_translator)
                                .add(clang)
                                .add(static_cast<std::uint64_t>(status.st_ino))
                                .add(static_cast<std::uint64_t>(status.st_size))
                                .add(static_cast<std::uint64_t>(status.st_mtim.tv_sec))
                                .add(static_cast<std::uint64_t>(status.st_mtim.tv_nsec))
                                .add(processor)
                                .digest();
    const std::string entry = Cache::shared().entry("compiler-" + key, build);
    return entry.empty() ? CompilerFacts{} : read(entry);
}

}  // namespace smtl::msl
