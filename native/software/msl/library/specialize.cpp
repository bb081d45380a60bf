// Machine code for one kernel with its function constants fixed.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <set>
#include <unistd.h>

#include "library.h"
#include "msl/compile/cache.h"
#include "msl/compile/deletion.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"
#include "msl/machine_code/initialisers.h"
#include "msl/machine_code/machine_code.h"
#include "msl/reflection/data_type.h"

namespace smtl::msl {
namespace {

constexpr const char *code_file = "/kernel.so";
const std::string presence_prefix = "smtl_present_";

std::string string_literal(std::string_view text) {
    std::string literal = "\"";
    for (char c : text) {
        constexpr char digits[] = "01234567";
        const auto byte = static_cast<unsigned char>(c);
        literal += {'\\', digits[byte >> 6], digits[byte >> 3 & 7], digits[byte & 7]};
    }
    return literal + "\"";
}

// Metal looks for a value by index first, then by name.
const smtl_constant_value *find_value(const FunctionConstant &constant, std::uint32_t index,
                                      const smtl_constant_value *values, std::size_t count) {
    const smtl_constant_value *indexed = nullptr, *named = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        // A later setting replaces an earlier one.
        if (!values[i].name && values[i].index == index) indexed = &values[i];
        if (values[i].name && constant.name == values[i].name) named = &values[i];
    }
    return indexed ? indexed : named;
}

std::string describe_constant(const FunctionConstant &constant, std::uint32_t index) {
    return "function constant '" + constant.name + "' (index " + std::to_string(index) + ")";
}

// Stands before the message of one of our assertions; only that message is shown.
constexpr std::string_view assertion_mark = "smtl: ";

std::string explain(const std::string &errors) {
    if (const std::size_t mark = errors.find(assertion_mark); mark != std::string::npos) {
        const std::size_t begin = mark + assertion_mark.size();
        return errors.substr(begin, errors.find_first_of("\"\n", begin) - begin) + "\n";
    }
    return present(read_diagnostics(errors, {}, {}, {}, {}));
}

class Specialization {
public:
    Specialization(const smtl_library &library, std::size_t kernel, const smtl_constant_value *values,
                   std::size_t count)
        : library_(library), kernel_(kernel), values_(values), count_(count) {}

    // The translation unit; empty with `error` if a value does not fit. Constants in `zero` that have no value are
    // zero.
    std::string source(const std::set<std::size_t> &zero = {}) {
        zero_ = zero;
        std::string text = std::string(surroundings) + "#include <smtl/entry.h>\n#include <msl/runtime.h>\n";
        if (library_.dialect.sanitize) text += "#include <smtl/sanitize.h>\n";
        if (!define_constants(text)) return {};
        define_presence(text);
        refuse_shared_indices(text);
        const Kernel &kernel = library_.reflection.kernels[kernel_];
        text += "SMTL_ENTRY(" + string_literal(kernel.name) + ", (*::" + kernel.identifier + ")";
        for (std::size_t i = 0; i < kernel.parameters.size(); ++i) text += ", " + descriptor(i);
        return text + ")\n";
    }

    const std::string &error() const { return error_; }
    bool any_given() const { return any_given_; }

    // The constants that the kernel uses and that have no value: the linker misses them.
    std::set<std::size_t> unset_constants(const std::string &errors) const {
        std::set<std::size_t> unset;
        const std::string symbol(constant_symbol);
        for (std::size_t at = errors.find(symbol); at != std::string::npos; at = errors.find(symbol, at + 1))
            unset.insert(std::strtoul(errors.c_str() + at + symbol.size(), nullptr, 10));
        return unset;
    }

    std::string describe_unset(std::size_t i) const {
        return describe_constant(library_.reflection.constants[i], library_.reflection.constant_facts[i].index) +
               " has no value\n";
    }

    // From clang's errors: an argument that may be present or absent. Empty for other errors.
    std::string describe_undecided(const std::string &errors) const {
        constexpr std::string_view unset = "initializer of '";
        const std::size_t at = errors.find("constexpr variable '" + presence_prefix);
        if (at == std::string::npos) return {};
        const std::size_t number =
            std::strtoul(errors.c_str() + errors.find(presence_prefix, at) + presence_prefix.size(), nullptr, 10);
        const std::string argument =
            "argument '" + library_.reflection.kernels[kernel_].parameters.at(number).name + "'";
        const std::size_t name = errors.find(unset, at);
        const bool found = name < errors.find(" error: ", at) &&
                           errors.compare(name + unset.size(), presence_prefix.size(), presence_prefix) != 0 &&
                           errors.compare(errors.find('\'', name + unset.size()), 12, "' is unknown") == 0;
        if (!found) return "the condition of " + argument + " cannot be computed from function constants\n";
        const std::size_t begin = name + unset.size();
        return "function constant '" + errors.substr(begin, errors.find('\'', begin) - begin) + "' has no value, and " +
               argument + " depends on it\n";
    }

private:
    bool define_constants(std::string &text) {
        for (std::size_t i = 0; i < library_.reflection.constants.size(); ++i) {
            const FunctionConstant &constant = library_.reflection.constants[i];
            const ConstantFacts &facts = library_.reflection.constant_facts[i];
            const smtl_constant_value *value = find_value(constant, facts.index, values_, count_);
            std::string variable;
            if (value) {
                if (value->data_type != facts.data_type) {
                    error_ = describe_constant(constant, facts.index) + " is of type " +
                             data_type_name(facts.data_type) + ", but its value is of type " +
                             data_type_name(value->data_type) + "\n";
                    return false;
                }
                // Conditions are evaluated with it. Vectors are classes, and cannot be part of a condition.
                const bool scalar = data_type_name(facts.data_type).find_first_of("234") == std::string::npos;
                variable = std::string(scalar ? "constexpr SMTL_CONSTANT " : "SMTL_CONSTANT ") + constant.type + " " +
                           constant.name + " = " + data_type_value(*value) + "; ";
                any_given_ = true;
            } else if (zero_.contains(i)) {
                variable = zero_variable(constant);
            }
            text += define_function_constant(constant, variable, value != nullptr);
        }
        return true;
    }

    void define_presence(std::string &text) const {
        const Kernel &kernel = library_.reflection.kernels[kernel_];
        for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
            const std::string &condition = kernel.parameters[i].condition;
            if (!condition.empty()) text += "static constexpr bool " + presence(i) + " = " + condition + "();\n";
        }
    }

    // Arguments that function constants choose between may share an index if only one of them is present.
    void refuse_shared_indices(std::string &text) const {
        const Kernel &kernel = library_.reflection.kernels[kernel_];
        const std::vector<ParameterFacts> &facts = library_.reflection.parameters[kernel_];
        for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const KernelParameter &first = kernel.parameters[j], &second = kernel.parameters[i];
                const bool indexed = first.kind == second.kind && first.kind != ParameterKind::attribute;
                const bool apart = facts[i].index >= facts[j].index + facts[j].length ||
                                   facts[j].index >= facts[i].index + facts[i].length;
                if (!indexed || apart) continue;
                text += "static_assert(!(" + presence(j) + " && " + presence(i) + "), \"" +
                        std::string(assertion_mark) + "arguments '" + first.name + "' and '" + second.name +
                        "' have the same index\");\n";
            }
        }
    }

    // Says whether an argument is present.
    std::string presence(std::size_t i) const {
        return library_.reflection.kernels[kernel_].parameters[i].condition.empty()
                   ? "true"
                   : presence_prefix + std::to_string(i);
    }

    std::string descriptor(std::size_t i) const {
        const Kernel &kernel = library_.reflection.kernels[kernel_];
        const KernelParameter &parameter = kernel.parameters[i];
        if (parameter.kind == ParameterKind::attribute) return "smtl::attribute<smtl::" + parameter.attribute + ">";
        std::string text = "smtl::buffer_argument<";
        if (parameter.kind == ParameterKind::threadgroup_memory)
            text = "smtl::threadgroup_argument<";
        else if (parameter.space == AddressSpace::constant && !parameter.addressed)
            text = "smtl::constant_argument<";
        text += std::to_string(library_.reflection.parameters[kernel_][i].index);
        if (!parameter.condition.empty()) text += ", " + presence(i);
        return text + ">";
    }

    const smtl_library &library_;
    std::size_t kernel_;
    const smtl_constant_value *values_;
    std::size_t count_;
    std::set<std::size_t> zero_;
    bool any_given_ = false;
    std::string error_;
};

bool generate(const smtl_library &library, const std::string &source, const std::string &folder, std::string &errors) {
    const std::string precompiled = library.entry(nullptr, errors);
    const std::string input = folder + "/input", object = folder + "/object";
    if (precompiled.empty() || !write_file(input, source)) return false;
    ProcessResult result =
        compile_object(library.dialect, precompiled, folder, object, !library.reflection.initialisers.empty());
    // The linker finds constants that have no value. Other constants may be computed from these.
    if (result.succeeded)
        result =
            run_process(Toolchain::shared().link_arguments(library.dialect, object, folder + code_file), "", folder);
    if (result.succeeded && has_initialisers(read_file(object).value_or(""), library.dialect.sanitize)) {
        // Values that other function constants would allow to compute, and values that no message of clang's names.
        result.succeeded = false;
        result.errors = not_computed;
    }
    if (result.errors == not_computed && !library.reflection.initialisers.empty())
        result.errors = library.reflection.initialisers;
    errors = result.errors;
    (void)unlink(object.c_str());
    (void)unlink(input.c_str());
    (void)unlink((folder + "/errors").c_str());
    return result.succeeded;
}

constexpr std::string_view name_prefix = "kernel-";

// The source to compile, and the name of the result: a hash of everything that the result depends on.
struct Request {
    Specialization specialization;
    std::string source;
    std::string name;
};

std::optional<Request> prepare(const smtl_library &library, const char *function, const smtl_constant_value *values,
                               std::size_t count, std::string &log) {
    const auto &kernels = library.reflection.kernels;
    const auto found = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const Kernel &kernel) { return function && kernel.name == function; });
    if (found == kernels.end()) {
        log = "the library has no function '" + std::string(function ? function : "") + "'\n";
        return std::nullopt;
    }
    Specialization specialization(library, static_cast<std::size_t>(found - kernels.begin()), values, count);
    std::string source = specialization.source();
    if (source.empty()) {
        log = specialization.error();
        return std::nullopt;
    }
    std::string name = std::string(name_prefix) + Hash().add(library.key).add(source).digest();
    return Request{std::move(specialization), std::move(source), std::move(name)};
}

std::string specialize_once(const smtl_library &library, const char *function, const smtl_constant_value *values,
                            std::size_t count, std::string &log) {
    auto request = prepare(library, function, values, count, log);
    if (!request) return {};
    Specialization &specialization = request->specialization;
    std::string errors;
    const std::string entry = Cache::shared().entry(request->name, [&](const std::string &folder) {
        bool made = generate(library, request->source, folder, errors);
        // Programs may leave out constants that make no difference to them; Metal accepts that. A linker may name one
        // missing constant at a time.
        for (std::set<std::size_t> unset; !made && specialization.any_given();) {
            const std::size_t known = unset.size();
            unset.merge(specialization.unset_constants(errors));
            if (unset.size() == known) break;
            made = generate(library, specialization.source(unset), folder, errors);
        }
        return made;
    });
    if (!entry.empty()) return entry + code_file;
    if (const auto unset = specialization.unset_constants(errors); !unset.empty())
        log = specialization.describe_unset(*unset.begin());
    if (log.empty()) log = specialization.describe_undecided(errors);
    if (log.empty()) log = errors.empty() ? Cache::shared().not_written("the kernel") + "\n" : explain(errors);
    return {};
}

std::string specialize(const smtl_library &library, const char *function, const smtl_constant_value *values,
                       std::size_t count, std::string &log) {
    std::string path;
    bool deleted = false;
    const auto work = [&] {
        log.clear();
        path = specialize_once(library, function, values, count, log);
        return !path.empty();
    };
    if (!despite_deletion(work, deleted) && deleted) log = deleted_meanwhile + Cache::shared().root() + "\n";
    return path;
}

std::string name_of(const smtl_library &library, const char *function, const smtl_constant_value *values,
                    std::size_t count, std::string &log) {
    const auto request = prepare(library, function, values, count, log);
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
template <class Function>
char *text_of(Function function, smtl_library *library, const char *kernel, const smtl_constant_value *values,
              std::size_t count, char **log) {
    if (log) *log = nullptr;
    if (!library) return nullptr;
    try {
        std::string complaint;
        const std::string text = function(*library, kernel, values, count, complaint);
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
                                         size_t count, char **log) {
    return smtl::msl::text_of(smtl::msl::specialize, library, function, values, count, log);
}

extern "C" char *smtl_library_specialization_name(smtl_library *library, const char *function,
                                                  const smtl_constant_value *values, size_t count, char **log) {
    return smtl::msl::text_of(smtl::msl::name_of, library, function, values, count, log);
}

extern "C" bool smtl_cache_import(const char *name, const void *code, size_t size) {
    try {
        return smtl::msl::import_code(name, std::string_view(static_cast<const char *>(code), size));
    } catch (const std::exception &) {
        return false;
    }
}
