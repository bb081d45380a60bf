#include "standard_library.h"

#include <functional>
#include <unistd.h>

#include "cache.h"
#include "deferred_checks.h"
#include "hash.h"

namespace smtl::msl {
namespace {

constexpr const char *file_name = "/stdlib.pch";

// Another linker leaves it as it is, and so does another level of optimisation. It names the headers by their paths.
std::string key_of(const std::string &variant) {
    const Toolchain &toolchain = Toolchain::shared();
    return "stdlib-" + Hash().add(toolchain.compiler_fingerprint).add(toolchain.headers).add(variant).digest();
}

// What `arguments` make of a header. No time stamps: the same headers give the same file, whoever compiles them.
std::string precompile(const std::string &key, std::vector<std::string> arguments, std::string &errors,
                       const std::function<void(const std::string &)> &finish) {
    const std::string entry = Cache::shared().entry(key, [&](const std::string &folder) {
        arguments.insert(arguments.end(), {"-Xclang", "-fno-pch-timestamp", "-Xclang", "-fpch-instantiate-templates",
                                           "-o", folder + file_name});
        const ProcessResult result = Toolchain::shared().run(arguments, "", folder);
        if (!result.succeeded) errors = "the standard library does not compile:\n" + result.errors;
        (void)unlink((folder + "/errors").c_str());
        if (result.succeeded) finish(folder + file_name);
        return result.succeeded;
    });
    if (!entry.empty()) return entry + file_name;
    if (errors.empty()) errors = Cache::shared().not_written("the standard library");
    return {};
}

}  // namespace

std::string standard_library(const Dialect &dialect, std::string &errors) {
    const Toolchain &toolchain = Toolchain::shared();
    std::vector<std::string> arguments = toolchain.compile_arguments(dialect);
    arguments.insert(arguments.end(), {"-x", "c++-header", toolchain.headers + "/prelude/stdlib.h"});
    return precompile(key_of(dialect.name()), std::move(arguments), errors,
                      [&](const std::string &file) { (void)forget_deferred_checks(file, toolchain.version); });
}

void restore_standard_library(const Dialect &dialect) {
    const std::string key = key_of(dialect.name());
    std::string errors;  // which whatever needs the file gives too
    if (access((Cache::shared().root() + "/" + key + file_name).c_str(), R_OK) == 0)
        Cache::note(key);
    else
        (void)standard_library(dialect, errors);
}

std::vector<std::string> strict_arguments() {
    const Toolchain &toolchain = Toolchain::shared();
    return {
        toolchain.clang,
        "-x",
        "clcpp",
        "-cl-std=clc++2021",
        "-cl-no-stdinc",
        "-cl-single-precision-constant",
        "-march=native",
        "-fdeclspec",
        "-nostdlibinc",
        "-isystem",
        toolchain.headers,
        "-fno-color-diagnostics",
        "-fno-caret-diagnostics",
        "-fno-diagnostics-show-option",
        "-ftemplate-backtrace-limit=4",
        "-fno-elide-type",
        "-ferror-limit=0",
        "-w",
    };
}

std::string strict_library(std::string &errors) {
    std::vector<std::string> arguments = strict_arguments();
    // Clang's driver knows no headers of this language: only the compiler proper precompiles them.
    arguments.insert(arguments.end(), {"-c", "-Xclang", "-emit-pch", Toolchain::shared().headers + "/prelude/lint.h"});
    return precompile(key_of("strict"), std::move(arguments), errors, [](const std::string &) {});
}

}  // namespace smtl::msl
