// The translation unit for one kernel, or for one function that is linked with it, with function constants fixed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "library.h"
#include "msl/machine_code/initialisers.h"
#include "msl/reflection/data_type.h"

namespace smtl::msl {

inline const std::string presence_prefix = "smtl_present_";

inline std::string string_literal(std::string_view text) {
    std::string literal = "\"";
    for (char c : text) {
        constexpr char digits[] = "01234567";
        const auto byte = static_cast<unsigned char>(c);
        literal += {'\\', digits[byte >> 6], digits[byte >> 3 & 7], digits[byte & 7]};
    }
    return literal + "\"";
}

// Metal looks for a value by index first, then by name.
inline const smtl_constant_value *find_value(const FunctionConstant &constant, std::uint32_t index,
                                             const smtl_constant_value *values, std::size_t count) {
    const smtl_constant_value *indexed = nullptr, *named = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        // A later setting replaces an earlier one.
        if (!values[i].name && values[i].index == index) indexed = &values[i];
        if (values[i].name && constant.name == values[i].name) named = &values[i];
    }
    return indexed ? indexed : named;
}

inline std::string describe_constant(const FunctionConstant &constant, std::uint32_t index) {
    return "function constant '" + constant.name + "' (index " + std::to_string(index) + ")";
}

// Stands before the message of one of our assertions; only that message is shown.
inline constexpr std::string_view assertion_mark = "smtl: ";

// One kernel, one function that is linked with it, or all functions of a dynamic library.
class Specialization {
public:
    enum class Kind {
        kernel,
        visible,
        exports
    };

    // `function`: which kernel or visible function of the library. `number`: of the part among those of its kind.
    Specialization(const smtl_library &library, Kind kind, std::size_t function, std::size_t number,
                   const smtl_constant_value *values, std::size_t count)
        : library_(library), kind_(kind), kernel_(function), number_(number), values_(values), count_(count) {}

    // The translation unit; empty with `error` if a value does not fit. Constants in `zero` that have no value are
    // zero.
    std::string source(const std::set<std::size_t> &zero = {}) {
        zero_ = zero;
        std::string text = std::string(surroundings) + "#include <smtl/entry.h>\n#include <msl/runtime.h>\n";
        const std::string number = std::to_string(number_);
        if (kind_ == Kind::exports)
            return define_constants(text) ? text + "SMTL_DYNAMIC_LIBRARY(smtl_library_" + number + ")\n" : "";
        if (kind_ == Kind::visible) {
            if (!define_constants(text)) return {};
            const VisibleFunction &function = library_.reflection.visible[kernel_];
            return text + "SMTL_VISIBLE_FUNCTION(smtl_function_" + number + ", " +
                   string_literal(std::string(named_symbol) + function.name) + ", " + string_literal(function.name) +
                   ", ::" + function.identifier + ")\n";
        }
        if (calls_others_) text += "SMTL_LINKED_PART(smtl_kernel)\n";
        if (library_.dialect.sanitize) text += "#include <smtl/sanitize.h>\n";
        if (!define_constants(text)) return {};
        define_presence(text);
        refuse_shared_indices(text);
        const Kernel &kernel = library_.reflection.kernels[kernel_];
        text += "SMTL_ENTRY(" + string_literal(kernel.name) + ", (*::" + kernel.identifier + ")";
        for (std::size_t i = 0; i < kernel.parameters.size(); ++i) text += ", " + descriptor(i);
        return text + ")\n";
    }

    // A kernel calls functions that its library only declares.
    void let_call_others() { calls_others_ = true; }
    bool may_call_others() const { return kind_ != Kind::kernel || calls_others_; }

    const smtl_library &library() const { return library_; }
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
    Kind kind_;
    std::size_t kernel_, number_;
    const smtl_constant_value *values_;
    std::size_t count_;
    bool calls_others_ = false;
    std::set<std::size_t> zero_;
    bool any_given_ = false;
    std::string error_;
};

}  // namespace smtl::msl
