// From a source to a checked library: preprocessing, translation, and one compilation that finds every error.
#include "library.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <unistd.h>

#include "halves.h"
#include "msl/compile/cache.h"
#include "msl/compile/deferred_checks.h"
#include "msl/compile/deletion.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/compile/process.h"
#include "msl/compile/standard_library.h"
#include "msl/compile/toolchain.h"
#include "msl/machine_code/initialisers.h"
#include "msl/machine_code/machine_code.h"
#include "msl/source/token.h"
#include "support/settings.h"
#include "source_cache.h"

namespace smtl::msl {
namespace {

constexpr const char *precompiled_name = "/library.pch";
constexpr const char *reflection_name = "/reflection";

// Everything that the source defines stays inside the shared object, and what a kernel does not use is not generated.
// If something is still open at the end of the source, the compiler says so at the end of the questions.
std::string wrap(const std::string &translated, const std::string &questions) {
    return std::string(surroundings) +
           "#pragma clang attribute smtl.push(__attribute__((internal_linkage)), apply_to = function)\n" + translated +
           end_of_source + "#pragma clang attribute smtl.pop\n" + questions + end_of_source + "\n";
}

struct Precompiled {
    bool succeeded = false;
    std::vector<Fact> facts;
    std::string errors;  // or warnings
    std::string initialisers;
};

Precompiled precompile(const Toolchain &toolchain, const std::string &translated, const std::string &questions,
                       const Dialect &dialect, bool may_mix, const std::string &folder) {
    Precompiled made;
    const std::string standard = standard_library(dialect, made.errors);
    const std::string input = folder + "/input";
    if (standard.empty() || !write_file(input, wrap(translated, questions))) return made;
    std::vector<std::string> arguments = toolchain.compile_arguments(dialect);
    arguments.insert(arguments.end(),
                     {"-Wglobal-constructors", "-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates",
                      "-include-pch", standard, "-x", "c++-header", "-o", folder + precompiled_name, "-"});
    if (may_mix) arguments.emplace_back(mixed_halves_warning);
    ProcessBounds bounds;
    const std::size_t shown_bytes = bounds.error_bytes;
    bounds.error_bytes = most_told_bytes;  // of which most goes
    const ProcessResult result = toolchain.run(arguments, input, folder, bounds);
    if (result.succeeded) (void)forget_deferred_checks(folder + precompiled_name, toolchain.version);
    Told told = take_told(result.errors);
    MixedHalves halves = find_mixed_halves(told.messages);
    DynamicInitialisers dynamic = find_dynamic_initialisers(halves.messages);
    made.succeeded = result.succeeded && !halves.found;
    made.facts = std::move(told.facts);
    made.errors = dynamic.messages.substr(0, shown_bytes);
    made.initialisers = std::move(dynamic.errors);
    // What is behind these, the facts among it, is not known.
    if (made.succeeded && result.errors.size() >= most_told_bytes) {
        made.succeeded = false;
        made.errors =
            "error: the warnings about this source take more than " + std::to_string(most_told_bytes >> 20) + " MB\n";
    }
    (void)unlink(input.c_str());
    return made;
}

// Whether nothing would have to run before a kernel, if all function constants were zero. Only code generation knows.
bool computes_variables(const Translation &translation, const Dialect &dialect, const std::string &folder,
                        bool initialises, std::string &errors) {
    const std::string input = folder + "/input", object = folder + "/object";
    ProcessResult result;
    std::optional<std::string> code;
    if (write_file(input, define_function_constants(translation))) {
        result = compile_object(dialect, folder, folder, object, initialises);
        code = read_file(object);
    }
    if (!result.succeeded || !code) errors = result.errors;  // empty: a file that cannot be written
    (void)unlink(input.c_str());
    (void)unlink(object.c_str());
    return result.succeeded && code && !has_initialisers(*code, dialect.sanitize);
}

bool reflect(const Translation &translation, const Dialect &dialect, const std::string &folder,
             const Precompiled &precompiled, std::string &errors) {
    const std::string &initialisers = precompiled.initialisers;
    // A source may have turned warnings off. Then nothing is known of the function constants' values.
    const bool silenced = initialisers.empty() && translation.constants.empty() &&
                          may_silence_warnings(translation.text, Toolchain::shared().headers);
    if (silenced || !initialisers.empty()) {
        errors = initialisers.empty() ? std::string(not_computed) : initialisers;
        if (!computes_variables(translation, dialect, folder, !initialisers.empty(), errors)) return false;
    }
    std::optional<Reflection> reflection = read_reflection(translation, precompiled.facts);
    if (!reflection) {
        errors = "the library's reflection cannot be read";
        return false;
    }
    if (const std::vector<Problem> misplaced = find_misplaced_arguments(translation, *reflection); !misplaced.empty()) {
        errors = list_problems(misplaced);
        return false;
    }
    reflection->warnings = precompiled.errors;
    reflection->initialisers = initialisers;
    errors.clear();  // nothing is wrong with the source
    return write_file(folder + reflection_name, serialize(*reflection));
}

// Problems that only the translation knows.
Reflection undetermined(const Translation &translation) {
    Reflection reflection;
    reflection.kernels = translation.kernels;
    for (const Kernel &kernel : translation.kernels) reflection.parameters.emplace_back(kernel.parameters.size());
    reflection.thread_limits.resize(translation.kernels.size());
    reflection.visible = translation.visible;
    reflection.constants = translation.constants;
    reflection.constant_facts.resize(translation.constants.size());
    return reflection;
}

}  // namespace

std::string list_problems(const std::vector<Problem> &problems) {
    std::string text;
    for (const Problem &problem : problems) {
        const SourceLocation &location = problem.location;
        text += location.file + ":" + std::to_string(location.line) + ":" + std::to_string(location.column) +
                ": error: " + problem.message + "\n";
    }
    return text;
}

namespace {

// The text without the path of our headers, which line markers name: machine code is the same wherever the cache lies.
// A literal that has the path keeps it. The borders between the parts count, so no two texts give one hash.
void add_without_place(Hash &hash, std::string_view text) {
    const std::string &headers = Toolchain::shared().headers;
    std::size_t begin = 0;
    for (const Token &token : tokenize(text)) {
        const auto leading = static_cast<std::size_t>(token.leading.data() - text.data());
        for (std::size_t at = token.leading.find(headers); at != token.leading.npos;
             at = token.leading.find(headers, at + headers.size())) {
            hash.add(text.substr(begin, leading + at - begin));
            begin = leading + at + headers.size();
        }
    }
    hash.add(text.substr(begin));
}

std::unique_ptr<smtl_library> compile_once(std::string_view source, const Options &options, Diagnostics &diagnostics) {
    if (!Toolchain::shared().problem.empty()) {
        diagnostics.push_back(general_error(Toolchain::shared().problem));
        return nullptr;
    }
    const std::string source_name = source_key(source, options);
    if (!source_name.empty()) {
        if (std::unique_ptr<smtl_library> known = recall_library(source_name, diagnostics)) return known;
    }
    const std::optional<std::string> preprocessed = preprocess(source, options, diagnostics);
    if (!preprocessed) return nullptr;
    const Translation translation = translate(*preprocessed, Purpose::execute, options.exports);
    if (!translation.problems.empty()) {
        diagnostics = read_diagnostics(list_problems(translation.problems), source, *preprocessed, options.name,
                                       options.include_paths);
        return nullptr;
    }
    const auto say = [&](const std::string &text) {
        for (Diagnostic &diagnostic :
             read_diagnostics(text, source, translation.text, options.name, options.include_paths))
            diagnostics.push_back(std::move(diagnostic));
    };
    auto library = std::make_unique<smtl_library>();
    library->dialect = {translation.math_mode_safe ? SMTL_MATH_SAFE : options.math_mode, translation.thread_elements,
                        smtl_kernels_are_instrumented(), options.enable_logging, smtl_kernels_are_counted()};
    library->translated = translation.text;
    Hash key;
    key.add(Toolchain::shared().fingerprint).add(library->dialect.name());
    add_without_place(key, translation.text);
    library->key = key.add(serialize(undetermined(translation))).digest();
    std::string errors;
    const std::string entry = library->entry(&translation, errors);
    std::optional<Reflection> reflection;
    if (!entry.empty()) reflection = deserialize(read_file(entry + reflection_name).value_or(""));
    if (!reflection) {
        say(errors.empty() ? "error: " + Cache::shared().not_written("the compiled library") : errors);
        if (diagnostics.empty()) diagnostics.push_back(general_error("the source does not compile"));
        return nullptr;
    }
    library->reflection = std::move(*reflection);
    // At the source's locations, which a kernel's code generation no longer knows.
    std::string &initialisers = library->reflection.initialisers;
    if (!initialisers.empty())
        initialisers =
            present(read_diagnostics(initialisers, source, translation.text, options.name, options.include_paths));
    say(library->reflection.warnings);
    library->describe();
    if (!source_name.empty() && stands_alone(*preprocessed)) remember_library(source_name, *library, diagnostics);
    return library;
}

}  // namespace

std::unique_ptr<smtl_library> compile(std::string_view source, const Options &options, Diagnostics &diagnostics) {
    std::unique_ptr<smtl_library> library;
    bool deleted = false;
    const auto work = [&] {
        diagnostics.clear();
        library = compile_once(source, options, diagnostics);
        return library != nullptr;
    };
    if (!despite_deletion(work, deleted) && deleted)
        diagnostics = {general_error(deleted_meanwhile + Cache::shared().root())};
    return library;
}

}  // namespace smtl::msl

std::string smtl_library::entry(const smtl::msl::Translation *translation, std::string &errors) const {
    using namespace smtl::msl;
    const Toolchain &toolchain = Toolchain::shared();
    restore_standard_library(dialect);
    // A precompiled header names those that it stands on by their paths.
    const std::string name = "library-" + Hash().add(key).add(toolchain.headers).digest();
    return Cache::shared().entry(name, [&](const std::string &folder) {
        const Precompiled made = precompile(toolchain, translated, translation ? ask_for_reflection(*translation) : "",
                                            dialect, translation && may_mix_halves(*translation), folder);
        errors = made.errors;
        if (!made.succeeded || (translation && !reflect(*translation, dialect, folder, made, errors))) return false;
        (void)unlink((folder + "/errors").c_str());
        return translation || write_file(folder + reflection_name, serialize(reflection));
    });
}

void smtl_library::describe() {
    using namespace smtl::msl;
    for (std::size_t i = 0; i < reflection.kernels.size(); ++i) {
        std::vector<smtl_argument> &list = arguments.emplace_back();
        for (std::size_t j = 0; j < reflection.kernels[i].parameters.size(); ++j) {
            const KernelParameter &parameter = reflection.kernels[i].parameters[j];
            const ParameterFacts &facts = reflection.parameters[i][j];
            if (parameter.kind == ParameterKind::attribute) continue;
            smtl_argument argument{};
            argument.name = parameter.name.c_str();
            argument.type = parameter.type.c_str();
            argument.kind =
                parameter.kind == ParameterKind::buffer ? SMTL_ARGUMENT_BUFFER : SMTL_ARGUMENT_THREADGROUP_MEMORY;
            argument.access = facts.read_only ? SMTL_ACCESS_READ_ONLY : SMTL_ACCESS_READ_WRITE;
            argument.index = facts.index;
            argument.type_size = facts.type_size;
            argument.array_length = facts.length;
            argument.conditional = !parameter.condition.empty();
            argument.function_table = parameter.type.find("visible_function_table") != std::string::npos;
            argument.used = true;
            list.push_back(argument);
        }
    }
    for (std::size_t i = 0; i < reflection.constants.size(); ++i) {
        const ConstantFacts &facts = reflection.constant_facts[i];
        constants.push_back(
            {reflection.constants[i].name.c_str(), facts.index, facts.data_type, !reflection.constants[i].optional});
    }
}

extern "C" {

smtl_library *smtl_library_compile(const char *source, size_t length, const smtl_compile_options *options, char **log) {
    if (log) *log = nullptr;
    try {
        smtl::msl::Diagnostics diagnostics;
        std::unique_ptr<smtl_library> library =
            smtl::msl::compile(smtl::msl::read_source(source, length), smtl::msl::read_options(options), diagnostics);
        if (log && !diagnostics.empty()) *log = strdup(smtl::msl::present(diagnostics).c_str());
        return library.release();
    } catch (const std::exception &exception) {
        if (log) *log = strdup(exception.what());
        return nullptr;
    }
}

smtl_library *smtl_library_retain(smtl_library *library) {
    if (library) library->references.fetch_add(1, std::memory_order_relaxed);
    return library;
}

void smtl_library_release(smtl_library *library) {
    if (library && library->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete library;
}

size_t smtl_library_function_count(const smtl_library *library) {
    return library ? library->reflection.kernels.size() : 0;
}

const char *smtl_library_function_name(const smtl_library *library, size_t index) {
    return library && index < library->reflection.kernels.size() ? library->reflection.kernels[index].name.c_str()
                                                                 : nullptr;
}

size_t smtl_library_arguments(smtl_library *library, const char *function, const smtl_argument **arguments) {
    for (size_t i = 0; library && function && i < library->reflection.kernels.size(); ++i) {
        if (library->reflection.kernels[i].name != function) continue;
        if (arguments) *arguments = library->arguments[i].data();
        return library->arguments[i].size();
    }
    return SIZE_MAX;
}

size_t smtl_library_visible_function_count(const smtl_library *library) {
    return library ? library->reflection.visible.size() : 0;
}

const char *smtl_library_visible_function_name(const smtl_library *library, size_t index) {
    return library && index < library->reflection.visible.size() ? library->reflection.visible[index].name.c_str()
                                                                 : nullptr;
}

uint32_t smtl_library_max_total_threads(const smtl_library *library, const char *function) {
    for (size_t i = 0; library && function && i < library->reflection.kernels.size(); ++i)
        if (library->reflection.kernels[i].name == function) return library->reflection.thread_limits[i];
    return 0;
}

size_t smtl_library_function_constants(smtl_library *library, const smtl_function_constant **constants) {
    if (!library) return 0;
    if (constants) *constants = library->constants.data();
    return library->constants.size();
}

}  // extern "C"
