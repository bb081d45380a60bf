// Machine code for one kernel with its function constants fixed.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <set>
#include <unistd.h>

#include "external.h"
#include "library.h"
#include "msl/compile/cache.h"
#include "msl/compile/deletion.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"
#include "msl/machine_code/external_functions.h"
#include "msl/machine_code/initialisers.h"
#include "msl/machine_code/machine_code.h"
#include "msl/reflection/data_type.h"
#include "specialization.h"

namespace smtl::msl {
namespace {

using Kind = Specialization::Kind;

constexpr const char *code_file = "/kernel.so";
std::string explain(const std::string &errors) {
    if (const std::size_t mark = errors.find(assertion_mark); mark != std::string::npos) {
        const std::size_t begin = mark + assertion_mark.size();
        return errors.substr(begin, errors.find_first_of("\"\n", begin) - begin) + "\n";
    }
    return present(read_diagnostics(errors, {}, {}, {}, {}));
}

// A translation unit, and the library that it is compiled with.
struct Part {
    Specialization specialization;
    std::string source;
    std::set<std::size_t> unset;  // constants that are zero for want of a value
};

ProcessResult compile_part(const Part &part, const std::string &folder, const std::string &object) {
    const smtl_library &library = part.specialization.library();
    ProcessResult result;
    const std::string precompiled = library.entry(nullptr, result.errors), input = folder + "/input";
    result.succeeded = !precompiled.empty() && write_file(input, part.source);
    if (!result.succeeded) return result;
    const std::string &initialisers = library.reflection.initialisers;
    result = compile_object(library.dialect, precompiled, folder, object, !initialisers.empty());
    const std::string made = result.succeeded ? read_file(object).value_or("") : "";
    // Constants that have no value. Others may be computed from these.
    if (std::string missing = missing_constants(made); !missing.empty()) {
        result.succeeded = false;
        result.errors = std::move(missing);
    } else if (result.succeeded && has_initialisers(made, library.dialect.sanitize)) {
        // Values that other function constants would allow to compute, and values that no message of clang's names.
        result.succeeded = false;
        result.errors = not_computed;
    }
    if (result.errors == not_computed && !initialisers.empty()) result.errors = initialisers;
    (void)unlink(input.c_str());
    return result;
}

// Whether an object file refers to what another one has; the linker itself defines where sections begin and end.
bool refers_to_others(const std::string &object) {
    for (const std::string &symbol : find_symbols(read_file(object).value_or(""), "", /*defined=*/false))
        if (!symbol.empty() && !symbol.starts_with("__start_") && !symbol.starts_with("__stop_")) return true;
    return false;
}

// On failure, `failed` is the part that the errors are about.
bool generate(std::vector<Part> &parts, DynamicLibraries libraries, const std::string &folder, std::string &errors,
              std::size_t &failed) {
    std::vector<std::string> objects, external;
    ProcessResult result;
    for (failed = 0; failed < parts.size(); ++failed) {
        Part &part = parts[failed];
        const std::string object = folder + "/object" + std::to_string(failed);
        objects.push_back(object);
        result = compile_part(part, folder, object);
        // Most kernels call nothing outside, and are simpler for that.
        if (result.succeeded && !part.specialization.may_call_others() &&
            !called_functions(read_file(object).value_or("")).empty()) {
            part.specialization.let_call_others();
            part.source = part.specialization.source(part.unset);
            result = compile_part(part, folder, object);
        }
        if (!result.succeeded) break;
    }
    if (result.succeeded) result.succeeded = find_external(objects, libraries, external, result.errors);
    if (result.succeeded) {
        std::vector<std::string> all = objects;
        all.insert(all.end(), external.begin(), external.end());
        const bool calls_others = std::any_of(all.begin(), all.end(), refers_to_others);
        const Dialect &dialect = parts[0].specialization.library().dialect;
        result =
            run_process(Toolchain::shared().link_arguments(dialect, all, calls_others, folder + code_file), "", folder);
    }
    errors = result.errors;
    for (const std::string &object : objects) (void)unlink(object.c_str());
    (void)unlink((folder + "/errors").c_str());
    return result.succeeded;
}

constexpr std::string_view name_prefix = "kernel-";

// What to compile, and the name of the result: a hash of everything that the result depends on.
struct Request {
    std::vector<Part> parts;  // the kernel first
    std::string name;
};

bool add_part(Request &request, Specialization specialization, std::string &log) {
    std::string source = specialization.source();
    if (source.empty()) log = specialization.error();
    if (source.empty()) return false;
    request.parts.push_back({std::move(specialization), std::move(source), {}});
    return true;
}

// The place of a function in a list of the reflection; nothing with `log` if there is none.
template <class List>
std::optional<std::size_t> find_function(const List &list, const char *function, std::string &log) {
    for (std::size_t i = 0; function && i < list.size(); ++i)
        if (list[i].name == function) return i;
    log = "the library has no function '" + std::string(function ? function : "") + "'\n";
    return std::nullopt;
}

DynamicLibraries libraries_of(const smtl_linking &linking) { return {linking.libraries, linking.library_count}; }

std::optional<Request> prepare(const smtl_library &library, const char *function, const smtl_constant_value *values,
                               std::size_t count, const smtl_linking &linking, std::string &log) {
    Request request;
    const auto kernel = find_function(library.reflection.kernels, function, log);
    if (!kernel || !add_part(request, Specialization(library, Kind::kernel, *kernel, 0, values, count), log))
        return std::nullopt;
    for (std::size_t i = 0; i < linking.function_count; ++i) {
        const smtl_linked_function &other = linking.functions[i];
        const auto found = find_function(other.library->reflection.visible, other.function, log);
        if (!found ||
            !add_part(request, Specialization(*other.library, Kind::visible, *found, i, other.values, other.count),
                      log))
            return std::nullopt;
    }
    Hash hash;
    for (const Part &part : request.parts) hash.add(part.specialization.library().key).add(part.source);
    for (const smtl_dynamic_library &other : libraries_of(linking)) hash.add(other.library->key);
    request.name = std::string(name_prefix) + hash.digest();
    return request;
}

std::string specialize_once(const smtl_library &library, const char *function, const smtl_constant_value *values,
                            std::size_t count, const smtl_linking &linking, std::string &log) {
    auto request = prepare(library, function, values, count, linking, log);
    if (!request) return {};
    std::string errors;
    std::size_t failed = 0;
    const std::string entry = Cache::shared().entry(request->name, [&](const std::string &folder) {
        bool made = generate(request->parts, libraries_of(linking), folder, errors, failed);
        // Programs may leave out constants that make no difference to them; Metal accepts that. What is zero for want
        // of a value may lead to others.
        while (!made && failed < request->parts.size() && request->parts[failed].specialization.any_given()) {
            Part &part = request->parts[failed];
            const std::size_t known = part.unset.size();
            part.unset.merge(part.specialization.unset_constants(errors));
            if (part.unset.size() == known) break;
            part.source = part.specialization.source(part.unset);
            made = generate(request->parts, libraries_of(linking), folder, errors, failed);
        }
        return made;
    });
    if (!entry.empty()) return entry + code_file;
    if (failed < request->parts.size()) {
        const Specialization &part = request->parts[failed].specialization;
        if (const auto unset = part.unset_constants(errors); !unset.empty()) log = part.describe_unset(*unset.begin());
        if (log.empty()) log = part.describe_undecided(errors);
    }
    if (const std::size_t at = errors.find(named_symbol); log.empty() && at != std::string::npos) {
        const std::size_t begin = at + named_symbol.size();
        log = "function '" + errors.substr(begin, errors.find_first_of("'\"\n", begin) - begin) +
              "' is declared as [[visible]] and called, but no function of this name is linked\n";
    }
    if (log.empty()) log = errors.empty() ? Cache::shared().not_written("the kernel") + "\n" : explain(errors);
    return {};
}

// The path that `make` gives, which takes a log.
template <class Make> std::string make_despite_deletion(std::string &log, Make make) {
    std::string path;
    bool deleted = false;
    const auto work = [&] {
        log.clear();
        path = make(log);
        return !path.empty();
    };
    if (!despite_deletion(work, deleted) && deleted) log = deleted_meanwhile + Cache::shared().root() + "\n";
    return path;
}

std::string specialize(const smtl_library &library, const char *function, const smtl_constant_value *values,
                       std::size_t count, const smtl_linking &linking, std::string &log) {
    return make_despite_deletion(log, [&](std::string &complaint) {
        return specialize_once(library, function, values, count, linking, complaint);
    });
}

std::string check_exports(const smtl_library &library, std::string &log) {
    return make_despite_deletion(log, [&](std::string &complaint) { return make_exports(library, complaint); });
}

std::string name_of(const smtl_library &library, const char *function, const smtl_constant_value *values,
                    std::size_t count, const smtl_linking &linking, std::string &log) {
    const auto request = prepare(library, function, values, count, linking, log);
    return request ? request->name : std::string();
}

bool import_code(std::string_view name, std::string_view code) {
    // A name becomes a path.
    const auto is_hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!name.starts_with(name_prefix)) return false;
    const std::string_view digest = name.substr(name_prefix.size());
    if (digest.empty() || !std::all_of(digest.begin(), digest.end(), is_hexadecimal)) return false;
    const auto write = [&](const std::string &folder) { return write_file(folder + code_file, code); };
    bool deleted = false;
    return despite_deletion([&] { return !Cache::shared().entry(std::string(name), write).empty(); }, deleted);
}

// Calls one of the functions above for the C interface.
template <class Function> char *text_of(smtl_library *library, char **log, Function function) {
    if (log) *log = nullptr;
    if (!library) return nullptr;
    try {
        std::string complaint;
        const std::string text = function(*library, complaint);
        if (log && !complaint.empty()) *log = strdup(complaint.c_str());
        return text.empty() ? nullptr : strdup(text.c_str());
    } catch (const std::exception &exception) {
        if (log) *log = strdup(exception.what());
        return nullptr;
    }
}

}  // namespace
}  // namespace smtl::msl

extern "C" char *smtl_library_specialize(smtl_library *library, const char *function, const smtl_constant_value *values,
                                         size_t count, const smtl_linking *linking, char **log) {
    return smtl::msl::text_of(library, log, [&](const smtl_library &own, std::string &complaint) {
        return smtl::msl::specialize(own, function, values, count, linking ? *linking : smtl_linking{}, complaint);
    });
}

extern "C" char *smtl_library_specialization_name(smtl_library *library, const char *function,
                                                  const smtl_constant_value *values, size_t count,
                                                  const smtl_linking *linking, char **log) {
    return smtl::msl::text_of(library, log, [&](const smtl_library &own, std::string &complaint) {
        return smtl::msl::name_of(own, function, values, count, linking ? *linking : smtl_linking{}, complaint);
    });
}

extern "C" bool smtl_library_check_exports(smtl_library *library, char **log) {
    char *const path = smtl::msl::text_of(library, log, [](const smtl_library &own, std::string &complaint) {
        return smtl::msl::check_exports(own, complaint);
    });
    std::free(path);
    return path != nullptr;
}

extern "C" bool smtl_cache_import(const char *name, const void *code, size_t size) {
    try {
        return smtl::msl::import_code(name, std::string_view(static_cast<const char *>(code), size));
    } catch (const std::exception &) {
        return false;
    }
}
