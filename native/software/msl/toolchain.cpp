#include "toolchain.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include "cache.h"
#include "embedded.h"
#include "file.h"
#include "hash.h"
#include "process.h"

namespace smtl::msl {
namespace {

constexpr int oldest_clang = 16;
constexpr int newest_named_clang = 24;

std::string search_path(const std::string &name) {
    const char *path = std::getenv("PATH");
    std::string_view folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
    while (!folders.empty()) {
        const std::size_t colon = folders.find(':');
        const std::string candidate = std::string(folders.substr(0, colon)) + "/" + name;
        if (candidate.starts_with("/") && access(candidate.c_str(), X_OK) == 0) return candidate;
        if (colon == std::string_view::npos) break;
        folders.remove_prefix(colon + 1);
    }
    return {};
}

std::vector<std::string> candidates() {
    std::vector<std::string> found;
    const auto add = [&](const std::string &path) {
        if (!path.empty()) found.push_back(path);
    };
    if (const char *chosen = std::getenv("SOFTWARE_METAL_CLANG"); chosen && *chosen) {
        const std::string name = chosen;
        add(name.find('/') == std::string::npos ? search_path(name) : name);
        if (found.empty()) add(name);
        return found;
    }
    if (access(smtl_embedded_clang, X_OK) == 0) add(smtl_embedded_clang);
    add(search_path("clang-19"));
    for (int version = newest_named_clang; version >= oldest_clang; --version) add(search_path("clang-" + std::to_string(version)));
    add(search_path("clang"));
    return found;
}

// The compiler's predefined macros for this processor: its version and every instruction set extension are among them.
std::string predefined_macros(const std::string &clang, const std::string &folder, std::string &errors) {
    const std::string output = folder + "/macros";
    const ProcessResult result = run_process({clang, "-x", "c++", "-march=native", "-E", "-dM", "-o", output, "-"}, "", folder);
    if (!result.succeeded) {
        errors += result.errors.empty() ? clang + ": failed\n" : result.errors + "\n";
        return {};
    }
    return read_file(output).value_or("");
}

int major_version(const std::string &macros) {
    constexpr std::string_view name = "#define __clang_major__ ";
    const std::size_t at = macros.find(name);
    return at == std::string::npos ? 0 : std::atoi(macros.c_str() + at + name.size());
}

std::string unpack_headers() {
    Hash hash;
    for (std::size_t i = 0; i < smtl_embedded_header_count; ++i) {
        const smtl_embedded_header &header = smtl_embedded_headers[i];
        hash.add(header.path).add({reinterpret_cast<const char *>(header.data), header.length});
    }
    return Cache::shared().entry("headers-" + hash.digest(), [](const std::string &folder) {
        for (std::size_t i = 0; i < smtl_embedded_header_count; ++i) {
            const smtl_embedded_header &header = smtl_embedded_headers[i];
            const std::string path = folder + "/" + header.path;
            if (!make_folders(path.substr(0, path.rfind('/')))) return false;
            if (!write_file(path, {reinterpret_cast<const char *>(header.data), header.length})) return false;
        }
        return true;
    });
}

Toolchain find_toolchain() {
    Toolchain toolchain;
    TemporaryFolder folder(Cache::shared().root());
    if (!folder.made()) {
        toolchain.problem = "no folder for compiled kernels can be written to: set SOFTWARE_METAL_CACHE";
        return toolchain;
    }
    std::string errors;
    std::string macros;
    for (const std::string &clang : candidates()) {
        macros = predefined_macros(clang, folder.path(), errors);
        const int version = major_version(macros);
        if (version >= oldest_clang) {
            toolchain.clang = clang;
            break;
        }
        if (version > 0) errors += clang + ": version " + std::to_string(version) + " is too old\n";
    }
    if (toolchain.clang.empty()) {
        toolchain.problem = "compiling Metal sources needs clang " + std::to_string(oldest_clang) +
                            " or newer (on Debian and Ubuntu: apt-get install clang-19; SOFTWARE_METAL_CLANG names another)\n" + errors;
        return toolchain;
    }
    toolchain.headers = unpack_headers();
    if (toolchain.headers.empty()) {
        toolchain.problem = "the standard library cannot be unpacked into " + Cache::shared().root();
        return toolchain;
    }
    // Ice Lake and later run 64-byte registers at about full clock; compilers still tune for their predecessors.
    toolchain.prefers_widest_registers = macros.find("__AVX512VBMI2__") != std::string::npos;
    toolchain.fingerprint = Hash().add(toolchain.clang).add(macros).add(toolchain.headers).digest();
    return toolchain;
}

}  // namespace

const Toolchain &Toolchain::shared() {
    static const Toolchain toolchain = find_toolchain();
    return toolchain;
}

std::vector<std::string> Toolchain::compile_arguments(const Dialect &dialect) const {
    std::vector<std::string> arguments = {
        clang, "-std=c++17", "-O3", "-march=native", "-fPIC", "-fvisibility=hidden", "-fdeclspec",
        // What GPUs do not have, and kernels do not pay for.
        "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-stack-protector", "-fno-unwind-tables",
        "-fno-asynchronous-unwind-tables", "-fno-semantic-interposition", "-fcf-protection=none", "-fno-ident",
        "-Wp,-U_FORTIFY_SOURCE",
        // Buffers are reinterpreted freely, and wide loads from addresses of lesser alignment work on a GPU.
        "-fno-strict-aliasing", "-fmax-type-align=8",
        // Each operation on halves rounds, whether or not the processor computes with them.
        "-Xclang", "-ffloat16-excess-precision=none",
        // Kernels meet our standard library only.
        "-nostdlibinc", "-nostdinc++", "-isystem", headers, std::string("-DSMTL_USES_THREAD_ELEMENTS=") + (dialect.thread_elements ? "1" : "0"),
        "-fno-math-errno", "-fno-trapping-math",
        "-fno-color-diagnostics", "-fno-caret-diagnostics", "-fno-diagnostics-show-option", "-ftemplate-backtrace-limit=4",
        "-Wno-unknown-attributes", "-Wno-ignored-attributes", "-Wno-duplicate-decl-specifier", "-Wno-undefined-internal",
        "-Wno-undefined-inline", "-Wno-undefined-var-template", "-Wno-pass-failed", "-Wno-unused-command-line-argument",
        "-Wno-ignored-pragmas", "-Wno-unknown-pragmas", "-Wno-pragma-once-outside-header", "-Wno-unused-function",
        "-Wno-ignored-optimization-argument", "-Wno-c99-extensions",
    };
    if (prefers_widest_registers) arguments.emplace_back("-mprefer-vector-width=512");
    if (dialect.math_mode == SMTL_MATH_SAFE) {
        arguments.push_back("-ffp-contract=on");
        return arguments;
    }
    // Infinities and NaNs stay what they are in the fast mode too: the language lets a compiler assume that there are none,
    // and kernels that mask with -INFINITY rely on compilers that do not.
    for (const char *argument : {"-ffp-contract=fast", "-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-fapprox-func"}) {
        arguments.emplace_back(argument);
    }
    return arguments;
}

std::string Toolchain::standard_library(const Dialect &dialect, std::string &errors) const {
    const std::string key = "stdlib-" + Hash().add(fingerprint).add(dialect.name()).digest();
    const std::string entry = Cache::shared().entry(key, [&](const std::string &folder) {
        std::vector<std::string> arguments = compile_arguments(dialect);
        // No time stamps: the same headers give the same file, whoever compiles them.
        for (const char *argument : {"-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates", "-x", "c++-header"}) {
            arguments.emplace_back(argument);
        }
        arguments.insert(arguments.end(), {headers + "/msl/stdlib.h", "-o", folder + "/stdlib.pch"});
        const ProcessResult result = run_process(arguments, "", folder);
        if (!result.succeeded) errors = "the standard library does not compile:\n" + result.errors;
        (void)unlink((folder + "/errors").c_str());
        return result.succeeded;
    });
    if (entry.empty()) {
        if (errors.empty()) errors = "the standard library cannot be written to " + Cache::shared().root();
        return {};
    }
    return entry + "/stdlib.pch";
}

}  // namespace smtl::msl
