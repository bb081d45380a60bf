// A checked source, behind the handle of msl.h.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "msl/compile/diagnostics.h"
#include "msl/compile/toolchain.h"
#include "msl/msl.h"
#include "msl/reflection/reflection.h"
#include "types.h"

namespace smtl::msl {

struct Options {
    std::vector<std::pair<std::string, std::optional<std::string>>> macros;
    std::vector<std::string> include_paths;
    std::string name = "program_source";
    unsigned language_version = 0;
    smtl_math_mode math_mode = SMTL_MATH_FAST;
    bool enable_logging = false;
    Exports exports = Exports::none;
};
Options read_options(const smtl_compile_options *options);

// As a host gave it, but for a byte order mark at the beginning; NULL: empty.
std::string_view read_source(const char *source, std::size_t length);

// Runs the preprocessor. Errors and warnings are among the diagnostics; after errors there is no result.
std::optional<std::string> preprocess(std::string_view source, const Options &options, Diagnostics &diagnostics);

// Nothing on errors.
std::unique_ptr<smtl_library> compile(std::string_view source, const Options &options, Diagnostics &diagnostics);
// Checks more strictly than `compile`; false on errors.
bool lint(std::string_view source, const Options &options, Diagnostics &diagnostics);

// The problems, as a compiler reports them.
std::string list_problems(const std::vector<Problem> &problems);

}  // namespace smtl::msl

struct smtl_library {
    std::atomic<std::size_t> references{1};
    std::string key;         // a hash of all that its machine code depends on
    std::string translated;  // to build it again should it get lost
    smtl::msl::Dialect dialect;
    smtl::msl::Reflection reflection;
    std::vector<std::vector<smtl_argument>> arguments;  // of each kernel; they point into `reflection`
    std::vector<smtl_function_constant> constants;
    smtl::msl::TypeTable types;

    // The folder with the precompiled source and its reflection, from the cache or compiled now; empty with `errors`.
    std::string entry(const smtl::msl::Translation *translation, std::string &errors) const;
    // Fills what the C interface hands out.
    void describe();
};
