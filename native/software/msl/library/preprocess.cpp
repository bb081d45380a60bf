// Reads the options and runs the preprocessor.
#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include "library.h"
#include "msl/compile/cache.h"
#include "msl/compile/file.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"
#include "msl/compile/visible_files.h"
#include "msl/source/token.h"
#include "support/settings.h"

namespace smtl::msl {
namespace {

// The newest language version whose library is here.
constexpr unsigned newest_version = (3u << 16) + 2;

// Macros can expand to more text than can be translated in a reasonable time.
constexpr ProcessBounds preprocessor_bounds = {.processor_seconds = 60,
                                               .seconds = 60,
                                               .address_space = std::uint64_t{4} << 30,
                                               .file_bytes = std::uint64_t{1} << 28};

std::string string_literal(std::string_view text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result + '"';
}

// SOFTWARE_METAL_INCLUDE: folders, with colons between them, in which every source's #include "..." looks last.
void add_include_paths_of_environment(std::vector<std::string> &paths) {
    for (std::string &path : folders_of(smtl_settings_get()->include)) paths.push_back(std::move(path));
}

void read_given_options(const smtl_compile_options *options, Options &read) {
    for (std::size_t i = 0; i < options->macro_count; ++i) {
        const smtl_macro &macro = options->macros[i];
        if (!macro.name || !*macro.name) continue;
        read.macros.emplace_back(macro.name, macro.value ? std::optional<std::string>(macro.value) : std::nullopt);
    }
    for (std::size_t i = 0; options->include_paths && i < options->include_path_count; ++i)
        if (options->include_paths[i]) read.include_paths.emplace_back(options->include_paths[i]);
    if (options->name && *options->name) read.name = options->name;
    if (options->language_version != 0) read.language_version = options->language_version;
    read.math_mode = options->math_mode;
    read.enable_logging = options->enable_logging;
    static constexpr Exports exports[] = {Exports::none, Exports::marked, Exports::all};
    read.exports = exports[options->exports];
}

}  // namespace

Options read_options(const smtl_compile_options *options) {
    Options read;
    read.language_version = newest_version;
    if (options) read_given_options(options, read);
    add_include_paths_of_environment(read.include_paths);
    return read;
}

std::string_view read_source(const char *source, std::size_t length) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    std::string_view text(source ? source : "", source ? length : 0);
    if (text.starts_with(mark)) text.remove_prefix(mark.size());
    return text;
}

std::optional<std::string> preprocess(std::string_view source, const Options &options, Diagnostics &diagnostics) {
    const Toolchain &toolchain = Toolchain::shared();
    if (!toolchain.problem.empty()) {
        diagnostics.push_back(general_error(toolchain.problem));
        return std::nullopt;
    }
    if (!smtl_is_language_version(options.language_version)) {
        diagnostics.push_back(general_error("language version " + std::to_string(options.language_version >> 16) + "." +
                                            std::to_string(options.language_version & 0xffff) + " is not supported"));
        return std::nullopt;
    }
    for (const auto &[name, value] : options.macros) {
        if (name.find_first_of("\n\r") == std::string::npos) continue;
        diagnostics.push_back(general_error("the name of a preprocessor macro must not contain a line break"));
        return std::nullopt;
    }
    TemporaryFolder folder(Cache::shared().root());
    const std::string input = folder.path() + "/source";
    const std::string output = folder.path() + "/preprocessed";
    const std::string files = folder.path() + "/files";
    std::string text = "#line 1 " + string_literal(options.name) + "\n";
    text += source;
    if (!text.ends_with('\n')) text += '\n';
    std::vector<std::string> named;
    if (may_reach(source, options.include_paths)) named = options.include_paths;
    if (!folder.made() || !write_file(input, text) ||
        !write_file(files, describe_visible_files({toolchain.headers, toolchain.resources}, named))) {
        diagnostics.push_back(general_error(Cache::shared().not_written("the source")));
        return std::nullopt;
    }
    // Apple's compiler counts major * 100 + minor * 10.
    const unsigned version = (options.language_version >> 16) * 100 + (options.language_version & 0xffff) * 10;
    std::vector<std::string> arguments = {
        toolchain.clang,
        "-E",
        "-x",
        "c++",
        version >= 400 ? "-std=c++17" : "-std=c++14",
        "-nostdlibinc",
        "-nostdinc++",
        "-fno-color-diagnostics",
        "-fno-caret-diagnostics",
        "-fno-diagnostics-show-option",
        "-Wno-invalid-pp-token",
        "-Wno-builtin-macro-redefined",
        "-Wno-null-character",
        // Only for macros in pragmas: #pragma unroll(COUNT) would keep a name that no later stage knows.
        "-fms-extensions",
        // A GPU program sees neither this host's operating system nor its processor.
        "-U__linux__",
        "-U__linux",
        "-Ulinux",
        "-U__gnu_linux__",
        "-U__unix__",
        "-U__unix",
        "-Uunix",
        "-U__x86_64__",
        "-U__x86_64",
        "-U__amd64__",
        "-U__amd64",
        "-U__aarch64__",
        "-D__METAL_VERSION__=" + std::to_string(version),
        // One spelling for each token: without it the translation could take a digraph or trigraph for other tokens,
        // although it is a bracket or begins a directive.
        "-fno-digraphs",
        "-fno-trigraphs",
        "-ivfsoverlay",
        files,
        "-isystem",
        toolchain.headers + "/preprocess",
        "-include",
        toolchain.headers + "/preprocess/predefined.h",
    };
    for (const auto &[name, value] : options.macros) arguments.push_back("-D" + name + "=" + value.value_or(""));
    // As one word: clang would take a word that begins with @ for a file of arguments.
    for (const std::string &path : options.include_paths) arguments.push_back("-I" + path);
    arguments.insert(arguments.end(), {"-o", output, "-"});
    const ProcessResult result = toolchain.run(arguments, input, folder.path(), preprocessor_bounds);
    diagnostics = read_diagnostics(result.errors, source, source, options.name, options.include_paths);
    std::optional<std::string> preprocessed;
    if (result.succeeded) preprocessed = read_file(output);
    if (!preprocessed && diagnostics.empty()) diagnostics.push_back(general_error("the preprocessor failed"));
    return preprocessed;
}

}  // namespace smtl::msl

bool smtl_is_language_version(std::uint32_t version) {
    constexpr std::uint32_t last_minors[] = {0, 2, 4, 2, 0};
    const std::uint32_t major = version >> 16, minor = version & 0xffff;
    return major > 0 && major < std::size(last_minors) && minor <= last_minors[major];
}
